"""An error of each call on a storage in its turn, and what it may not take away.

    python examples/storage/errors.py WORKER lmdb|postgres WHERE

A client is opened, sends messages and is closed, again and again; each time one call later than
before fails. What was acknowledged has to be there when it is opened again, and nothing else but
what was tried. ``make storage`` runs this.
"""

import argparse
import subprocess
import sys


class Worker:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, *words):
        """Says one line, and gives the words of the answer."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        return self.process.stdout.readline().split()


def life(worker, name, tried, said):
    """Three messages, as far as the storage lets them be."""
    held = worker.tell("take", name)[0] == "have"
    for _ in range(3 if held else 0):
        tried.append(len(tried) + 1)
        if worker.tell("say", name, tried[-1])[0] != "said":
            return
        said.append(tried[-1])
    if held:
        worker.tell("leave", name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("storage")
    parser.add_argument("where")
    arguments = parser.parse_args()
    worker = Worker(arguments.worker, arguments.storage, arguments.where)
    wrong, call, failed = [], 0, 0
    while not wrong:
        name, tried, said = f"error-{call}", [], []
        worker.tell("fail", call)
        life(worker, name, tried, said)
        first = int(worker.tell("fail", -1)[1]) > call
        # The same in a file that is there.
        worker.tell("take", name)
        worker.tell("fail", call)
        life(worker, name, tried, said)
        second = int(worker.tell("fail", -1)[1]) > call
        opened = worker.tell("take", name)
        there = list(map(int, worker.tell("list", name)[2:]))
        worker.tell("leave", name)
        if opened[0] != "have" or set(said) - set(there) or set(there) - set(tried):
            wrong.append(f"call {call}: {opened}, acknowledged {said}, there {there}")
        if not first and not second:
            break
        failed += first + second
        call += 1
    worker.tell("end")
    for line in wrong:
        print(f"  WRONG: {line}")
    print(f"errors on {arguments.storage}: {failed} calls failed, {int(not wrong)} passed, "
          f"{len(wrong)} failed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

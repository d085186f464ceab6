"""A fleet of bots: many accounts, a few worker processes, one PostgreSQL, and much that goes wrong.

    python examples/storage/fleet.py WORKER [--accounts 200] [--workers 4] [--takeovers 300]
        [--storage postgres|lmdb]

Accounts are dealt out to workers, which send messages in them. Workers are killed with -9 or frozen
at random, and others take their accounts over; a frozen one goes on later with numbers that are not
the newest any more. The database is killed and started again under load. At the end each account is
read by a new worker: what was acknowledged has to be there, once and in order. The database has
written down each acquire and each write with its number: none may have another number than that of
the acquire before it. With LMDB there is no database to be killed or asked; the rest is the same.
``make storage`` builds the worker and runs this.
"""

import argparse
import collections
import pathlib
import queue
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
CANARY = b"kanarienvogel"
# Another worker has an account whose worker died; or it was opened anew, its database being back.
TAKEN_OVER, REOPENED = "taken over", "opened anew"
AUDIT = """
LOCK TABLE tl_name, tl_object IN EXCLUSIVE MODE;
CREATE TABLE tl_audit(seq bigserial PRIMARY KEY, name bytea, object int, fence bigint);
CREATE FUNCTION tl_note() RETURNS trigger AS $$ BEGIN
  INSERT INTO tl_audit(name, object, fence) VALUES(NEW.name, TG_ARGV[0]::int, NEW.fence);
  RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER acquired AFTER INSERT OR UPDATE OF fence ON tl_name
  FOR EACH ROW EXECUTE FUNCTION tl_note('-1');
CREATE TRIGGER written AFTER INSERT OR UPDATE ON tl_object
  FOR EACH ROW EXECUTE FUNCTION tl_note('0');
INSERT INTO tl_audit(name, object, fence) SELECT name, -1, fence FROM tl_name;
"""
TWO_WRITERS = """
SELECT count(*) FROM (SELECT object, fence, max(fence) FILTER (WHERE object = -1)
  OVER (PARTITION BY name ORDER BY seq) AS newest FROM tl_audit) AS a
WHERE object = 0 AND fence IS DISTINCT FROM newest
"""
CANARIES = f"SELECT count(*) FROM tl_block WHERE position('{CANARY.decode()}'::bytea IN bytes) > 0"


class Account:
    def __init__(self, name):
        self.name, self.worker, self.busy = name, None, False
        self.tried, self.acknowledged = 0, []
        self.died = None                # When its worker died, or the database under it.
        self.why = None                 # Which of both.


class Worker:
    """A process and what it was told; its lines come to the queue of all."""

    numbers = iter(range(1, 1 << 30))

    def __init__(self, program, kind, where, lines):
        self.number = next(self.numbers)
        self.process = subprocess.Popen(
            [program, kind, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, args=(lines,), daemon=True).start()

    def read(self, lines):
        for line in self.process.stdout:
            lines.put((self, line.split()))
        lines.put((self, ["ended"]))

    def tell(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass                        # It is dead, and its end comes to the queue.

    def send(self, number):
        self.process.send_signal(number)


class Fleet:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.random, self.lines = random.Random(arguments.seed), queue.Queue()
        self.has_server = arguments.storage == "postgres"
        self.where = self.server("start") if self.has_server else f"{folder}/all.mdb"
        self.workers, self.frozen = [], []
        self.accounts = {f"bot-{number}": Account(f"bot-{number}")
                         for number in range(arguments.accounts)}
        self.counts, self.waits = collections.Counter(), collections.defaultdict(list)

    def server(self, action):
        if not self.has_server:
            return ""
        return subprocess.run(["sh", HERE / "server.sh", action, self.folder], check=True,
                              capture_output=True, text=True).stdout.strip()

    def ask(self, text):
        return subprocess.run(["psql", "-X", "-At", "-c", text, self.where], check=True,
                              capture_output=True, text=True).stdout.strip()

    def hire(self):
        self.workers.append(self.worker(self.lines))

    def worker(self, lines):
        return Worker(self.arguments.worker, self.arguments.storage, self.where, lines)

    def deal(self, account, why=None, since=None):
        """Gives an account to a worker; it may be another's yet."""
        account.worker, account.busy = self.random.choice(self.workers), True
        if why and not account.died:
            account.why, account.died = why, since or time.monotonic()
        account.worker.tell("take", account.name)

    def next(self, account):
        if not account.busy and account.worker in self.workers:
            account.busy, account.tried = True, account.tried + 1
            account.worker.tell("say", account.name, account.tried)

    def hear(self, worker, words):
        verb, account = words[0], self.accounts.get(words[1]) if len(words) > 1 else None
        mine = account is not None and account.worker is worker
        if verb == "said":
            # A late word of a worker that has lost it counts as well: it was promised.
            account.acknowledged.append(int(words[2]))
            self.counts["messages"] += 1
            if mine and account.died:
                self.waits[account.why].append(time.monotonic() - account.died)
                account.died = None
                self.counts[account.why] += 1
        elif verb == "gone":
            self.counts[f"ended with {words[2]}"] += 1
            if mine:
                self.deal(account, REOPENED)
                return
            self.counts["late calls refused"] += words[2] == "TL_E_LOCKED"
        if mine and verb in ("said", "have"):
            account.busy = False
            self.next(account)

    def work(self, seconds=0.0, until=lambda: False):
        end = time.monotonic() + seconds
        while not until() and (left := end - time.monotonic()) > 0:
            try:
                self.hear(*self.lines.get(timeout=min(left, 0.1)))
            except queue.Empty:
                pass

    def lose(self, worker):
        """Its accounts go to the others, and a new one comes in its place."""
        now = time.monotonic()
        self.workers.remove(worker)
        self.hire()
        for account in self.accounts.values():
            if account.worker is worker:
                self.deal(account, TAKEN_OVER, now)

    def kill(self):
        worker = self.random.choice(self.workers)
        worker.send(signal.SIGKILL)
        self.counts["workers killed"] += 1
        self.lose(worker)

    def freeze(self):
        worker = self.random.choice(self.workers)
        worker.send(signal.SIGSTOP)
        self.counts["workers frozen"] += 1
        self.frozen.append(worker)
        self.lose(worker)

    def thaw(self):
        while self.frozen:
            self.frozen.pop().send(signal.SIGCONT)

    def run(self):
        for _ in range(self.arguments.workers):
            self.hire()
        first = next(iter(self.accounts.values()))
        self.deal(first)                # It makes the tables.
        self.work(60, lambda: first.acknowledged)
        if self.has_server:
            self.ask(AUDIT)
        for account in self.accounts.values():
            if account is not first:
                self.deal(account)
        self.work(120, lambda: all(a.acknowledged for a in self.accounts.values()))
        crashes = {self.arguments.takeovers // 3, self.arguments.takeovers * 2 // 3}
        turn = 0
        while self.counts[TAKEN_OVER] < self.arguments.takeovers and turn < 1_000:
            turn += 1
            before = self.counts[TAKEN_OVER]
            (self.freeze if turn % 3 == 0 else self.kill)()
            # A process that is frozen in the midst of a transaction of LMDB holds up all others.
            self.work(60 if self.has_server else 1, self.is_well)
            self.thaw()
            self.work(60, self.is_well)
            self.work(self.random.random())
            done = self.counts[TAKEN_OVER]
            if self.has_server and any(before < crash <= done for crash in crashes):
                self.counts["database killed"] += 1
                self.server("crash")
                self.work(60, self.is_well)
                self.work(0.5)
        return self.judge()

    def is_well(self):
        """Whether each account goes on."""
        return not any(account.died for account in self.accounts.values())

    def judge(self):
        """Reads each account with a new worker: what is wrong, as lines."""
        wrong = []
        for worker in self.workers:
            worker.tell("end")
        for worker in self.workers:
            worker.process.wait(60)
        self.work(1)
        lines, found = queue.Queue(), {}
        reader = self.worker(lines)
        for name in self.accounts:
            reader.tell("take", name)
            reader.tell("list", name)
            while name not in found:
                _, words = lines.get(timeout=60)
                if words[0] == "list":
                    found[words[1]] = list(map(int, words[2:]))
                elif words[0] in ("gone", "ended"):
                    wrong.append(f"{name} cannot be read: {words}")
                    found[name] = []
        reader.tell("end")
        for account in self.accounts.values():
            there = found[account.name]
            lost = set(account.acknowledged) - set(there)
            if lost:
                wrong.append(f"{account.name} has lost {sorted(lost)}")
            if len(set(there)) != len(there) or there != sorted(there):
                wrong.append(f"{account.name} is out of order: {there}")
            if set(there) - set(range(1, account.tried + 1)):
                wrong.append(f"{account.name} has what nobody said: {there}")
        if self.has_server:
            wrong += self.ask_the_database()
            self.server("stop")
        for path in pathlib.Path(self.folder).rglob("*"):
            if path.is_file() and CANARY in path.read_bytes():
                wrong.append(f"there is plain text in {path.name}")
        return wrong

    def ask_the_database(self):
        wrong = []
        if two := int(self.ask(TWO_WRITERS)):
            wrong.append(f"{two} writes with a number that was not the newest")
        if int(self.ask(CANARIES)):
            wrong.append("there is plain text in a block")
        for what, number in (("acquires", -1), ("writes", 0)):
            self.counts[f"{what} in the database"] = int(
                self.ask(f"SELECT count(*) FROM tl_audit WHERE object = {number}"))
        return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--accounts", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--takeovers", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--storage", choices=("postgres", "lmdb"), default="postgres")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tideline-fleet-")
    pathlib.Path(folder).chmod(0o755)
    began = time.monotonic()
    fleet = Fleet(arguments, folder)
    try:
        wrong = fleet.run()
        print(f"fleet on {arguments.storage}: {arguments.accounts} accounts, "
              f"{arguments.workers} workers, "
              f"{time.monotonic() - began:.0f} s")
        for what, count in sorted(fleet.counts.items()):
            print(f"  {what:32} {count:8}")
        for why, waits in sorted(fleet.waits.items()):
            print(f"  seconds until one is {why:11} {statistics.median(waits):8.2f}"
                  f"  at most {max(waits):.2f}")
        for line in wrong:
            print(f"  WRONG: {line}")
        if fleet.counts[TAKEN_OVER] < arguments.takeovers:
            wrong.append("too few takeovers")
        print(f"fleet: {int(not wrong)} passed, {int(bool(wrong))} failed")
        return int(bool(wrong))
    finally:
        fleet.thaw()
        for worker in fleet.workers:
            worker.process.kill()
        fleet.server("stop")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

"""A fleet over PostgreSQL with a synchronous standby: how long a failover takes, and what it loses.

    python examples/storage/failover.py WORKER [--accounts 100] [--workers 4] [--frozen]

Workers hold accounts that send messages and get updates; this process stands for the users and for
the chat server, and notes what was acknowledged to it. Then, one after the other: a worker is
killed; the standby is killed; the primary is killed (or frozen) and the standby promoted; the old
primary comes back. At the end new workers open each account: what was acknowledged has to be there
once, and has to reach the chat server once. ``make storage WORD=failover`` runs this.
"""

import argparse
import collections
import pathlib
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from fleet import HERE, Worker

DEPTH = 4                               # Calls that a worker has before it at a time.
PAUSE = 0.5                             # Seconds after a call that failed.
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
LIMIT = 1800                            # Seconds until a step that does not end is wrong.


class Account:
    def __init__(self, name):
        self.name, self.worker, self.held = name, None, False
        self.tried, self.pushed = 0, 0
        self.said, self.heard = [], set()
        self.sent = collections.defaultdict(set)    # Client ids by number, at the chat server.
        self.began = None               # When its call began, if one is under way.
        self.there = None               # What was found at the end.


class Failover:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.lines, self.workers, self.hired = queue.Queue(), [], []
        self.accounts = {name: Account(name) for name in
                         (f"bot-{number}" for number in range(arguments.accounts))}
        self.waiting, self.under_way = {}, collections.Counter()
        self.resting = collections.Counter()    # Until when a worker gets no call.
        self.counts, self.wrong = collections.Counter(), []
        self.serving, self.acknowledged = True, 0
        # The step that is measured: its accounts that were not served yet, and when it began.
        self.left, self.since, self.waits, self.first = set(), 0.0, [], {}

    # The servers.

    def server(self, action, name, *more):
        done = subprocess.run(["sh", HERE / "server.sh", action, f"{self.folder}/{name}", *more],
                              check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def ask(self, text, where):
        return subprocess.run(["psql", "-X", "-At", "-c", text, where], check=True,
                              capture_output=True, text=True).stdout.strip()

    @staticmethod
    def both(first, second):
        """What libpq connects to, with two servers."""
        one, two = (dict(word.split("=") for word in where.split()) for where in (first, second))
        one.update(host=f"{one['host']},{two['host']}", port=f"{one['port']},{two['port']}")
        return " ".join(f"{key}={value}" for key, value in one.items())

    # The workers and their calls.

    def hire(self, where, lines=None):
        worker = Worker(self.arguments.worker, "postgres", where, lines or self.lines)
        self.hired.append(worker)
        self.waiting[worker] = collections.deque()
        return worker

    def give(self, account, worker, first=False):
        account.worker, account.held, account.began = worker, False, None
        (self.waiting[worker].appendleft if first else self.waiting[worker].append)(account)

    def begin(self, worker):
        """Gives a worker its next calls."""
        line = self.waiting[worker]
        while (self.serving and line and self.under_way[worker] < DEPTH
               and self.resting[worker] < time.monotonic()):
            account = line.popleft()
            self.under_way[worker] += 1
            account.began = time.monotonic()
            if account.held:
                self.call(account)
            else:
                worker.tell("take", account.name, "online")

    def call(self, account):
        if len(account.said) <= len(account.heard):
            account.tried += 1
            account.worker.tell("say", account.name, account.tried)
        else:
            # An update is repeated until its reply.
            account.pushed += account.pushed in account.heard or not account.pushed
            account.worker.tell("push", account.name, account.pushed)

    def hear(self, worker, words):
        verb, account = words[0], self.accounts.get(words[1]) if len(words) > 1 else None
        mine = account is not None and account.worker is worker
        if verb == "said":
            account.said.append(int(words[2]))
        elif verb == "heard":
            account.heard.add(int(words[2]))
        elif verb == "asks" and len(words) == 5:
            account.sent[int(words[2])].add(words[4])
            worker.tell("answer", account.name, *words[2:])
        elif verb == "asks":
            self.counts[f"asked for {words[2]}"] += 1
        elif verb in ("told", "fails"):
            self.counts[verb] += 1
        elif verb == "gone":
            self.counts[f"ended with {words[2]}"] += 1
        if mine and verb == "have":
            account.held = True
            self.call(account)
        elif mine and verb == "gone":
            account.held = False
            self.resting[worker] = time.monotonic() + PAUSE
            self.end(account)
        elif mine and verb in ("said", "heard"):
            self.acknowledged += 1
            if (account.began or 0) >= self.since:
                wait = time.monotonic() - self.since
                self.first.setdefault(worker, wait)
                if account in self.left:
                    self.left.discard(account)
                    self.waits.append(wait)
            self.end(account)

    def end(self, account):
        """Puts an account behind the others of its worker."""
        if account.began is None:
            return                      # A reply that was handed out again.
        account.began = None
        self.under_way[account.worker] -= 1
        self.waiting[account.worker].append(account)

    def work(self, until, seconds=LIMIT):
        """Whether it came to that."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            for worker in self.workers:
                self.begin(worker)
            try:
                self.hear(*self.lines.get(timeout=0.1))
                while True:
                    self.hear(*self.lines.get_nowait())
            except queue.Empty:
                pass
        return True

    def measure(self, what, accounts):
        self.left, self.since = set(accounts), time.monotonic()
        self.waits, self.first = [], {}
        if not self.work(lambda: not self.left):
            self.wrong.append(f"{what}: {len(self.left)} accounts do not go on")
        self.report_waits(what, self.waits)

    def report_waits(self, what, waits):
        waits = sorted(waits) or [0.0]
        self.report(what, len(waits), statistics.median(waits), waits[int(len(waits) * 0.95)],
                    waits[-1])

    @staticmethod
    def report(what, *figures):
        print(f"  {what:42}" + "".join(f" {figure:8.2f}" if isinstance(figure, float) else
                                       f" {figure:8}" for figure in figures), flush=True)

    def rest(self):
        """Waits until no call is under way, and no line of a worker either."""
        self.serving = False
        self.work(self.is_at_rest)
        self.counts["fails"] = 0
        for worker in self.workers:
            worker.tell("fail", -1)
        if not self.work(lambda: self.counts["fails"] == len(self.workers)):
            self.wrong.append("calls do not end")

    def is_at_rest(self):
        return not any(self.under_way[worker] for worker in self.workers)

    # What goes wrong.

    def run(self):
        one = self.server("start", "one")
        self.workers = [self.hire(one)]
        first = next(iter(self.accounts.values()))
        self.give(first, self.workers[0])   # It makes the tables.
        self.work(lambda: first.said)
        self.rest()
        self.workers[0].tell("end")
        two = self.server("standby", "two", f"{self.folder}/one")
        self.where = self.both(one, two)
        self.workers = [self.hire(self.where) for _ in range(self.arguments.workers)]
        for number, account in enumerate(self.accounts.values()):
            self.give(account, self.workers[number % len(self.workers)])
        self.serving = True
        self.measure("made", self.accounts.values())
        self.steady("with a standby")
        self.kill_a_worker()
        self.kill_the_standby(one)
        self.fail_over()
        self.steady("after the failover")
        self.come_back(one)
        self.judge(two)

    def steady(self, what):
        before, began = self.acknowledged, time.monotonic()
        self.work(lambda: False, self.arguments.seconds)
        rate = (self.acknowledged - before) / (time.monotonic() - began)
        self.report(f"messages a second and worker, {what}", rate / len(self.workers))

    @staticmethod
    def answer(lines):
        """What a worker says of a name that it was to take."""
        try:
            while (words := lines.get(timeout=120)[1])[0] not in ("have", "gone"):
                pass
            return words
        except queue.Empty:
            return []

    def kill_a_worker(self):
        worker = self.workers.pop()
        worker.process.kill()
        worker.process.wait()
        lost = [account for account in self.accounts.values() if account.worker is worker]
        for number, account in enumerate(lost):
            self.give(account, self.workers[number % len(self.workers)], first=True)
        self.measure("a worker was killed", lost)

    def kill_the_standby(self, one):
        """A sync waits for it: until it is back nothing may be acknowledged."""
        self.rest()
        self.server("signal", "two", "KILL")
        before = self.acknowledged
        self.one_call_each(one)
        if self.acknowledged != before:
            self.wrong.append(f"{self.acknowledged - before} acknowledged without the standby")
        self.restart("two")
        self.serving = True
        self.measure("the standby was back", self.accounts.values())

    def one_call_each(self, cancelled=None):
        """None of them can be acknowledged, and each has to end."""
        for worker in self.workers:
            account = self.waiting[worker].popleft()
            self.under_way[worker] += 1
            account.began = time.monotonic()
            self.call(account)
        if cancelled:
            # PostgreSQL takes a wait that is cancelled for a commit.
            self.work(lambda: self.ask(CANCEL, cancelled) and self.is_at_rest(), 5)
        if not self.work(self.is_at_rest, 120):
            self.wrong.append("a worker without a server does not answer")

    def restart(self, name):
        (pathlib.Path(self.folder) / name / "data/postmaster.pid").unlink(missing_ok=True)
        self.server("start", name)

    def fail_over(self):
        self.rest()
        # The primary has not written these down when it dies, and the clients go on from them.
        self.counts["told"], told = 0, [self.waiting[worker][0] for worker in self.workers]
        for account in told:
            account.worker.tell("tell", account.name, 2_000_000)
        self.work(lambda: self.counts["told"] == len(told))
        ended, self.serving = self.counts["ended with TL_E_STORAGE"], True
        self.server("signal", "one", "STOP" if self.arguments.frozen else "KILL")
        promotion = threading.Thread(target=self.server, args=("promote", "two"))
        promotion.start()
        self.measure("the primary was killed", self.accounts.values())
        promotion.join()
        self.report_waits("and their worker could write", [
            self.first[account.worker] for account in self.accounts.values()
            if account.worker in self.first])
        if self.counts["ended with TL_E_STORAGE"] != ended:
            self.wrong.append("the failover has closed clients")

    def come_back(self, one):
        """The old primary is there again, and takes itself for the only one."""
        self.rest()
        if self.arguments.frozen:
            self.server("signal", "one", "CONT")
        else:
            self.restart("one")
        account, other = list(self.accounts.values())[:2]
        alone, late = queue.Queue(), queue.Queue()
        self.hire(one, alone).tell("take", account.name, "online")
        # It is the first of the list, and the second is to be taken.
        self.hire(self.where, late).tell("take", other.name, "online")
        if (words := self.answer(late)[:1]) != ["have"]:
            self.wrong.append(f"the promoted standby is not found behind the old primary: {words}")
        # Its worker of before does not know, and cannot write.
        locked, stolen = self.counts["ended with TL_E_LOCKED"], 1_000_000
        other.worker.tell("say", other.name, stolen)
        self.work(lambda: self.counts["ended with TL_E_LOCKED"] > locked or stolen in other.said,
                  60)
        if self.counts["ended with TL_E_LOCKED"] == locked:
            self.wrong.append("an old worker can write")
        if (words := self.answer(alone)) != ["gone", account.name, "TL_E_STORAGE"]:
            self.wrong.append(f"the old primary gives an account away: {words}")
        self.mislead(one)

    def mislead(self, one):
        """The old primary waits for nobody and is the only one: those who know more refuse it."""
        self.ask("ALTER SYSTEM RESET synchronous_standby_names", one)
        self.ask("SELECT pg_reload_conf()", one)
        self.server("signal", "two", "KILL")
        self.rest()
        before = self.acknowledged
        self.one_call_each()
        if self.acknowledged != before:
            self.wrong.append("a worker goes back to the old primary")
        self.restart("two")

    # What is there at the end.

    def judge(self, two):
        for worker in self.hired:
            worker.process.kill()
            worker.process.wait()
        self.work(lambda: False, 1)
        self.workers = [self.hire(two) for _ in range(4)]
        for number, account in enumerate(self.accounts.values()):
            account.worker = self.workers[number % len(self.workers)]
        self.serving, self.hear = False, self.find
        for account in self.accounts.values():
            account.worker.tell("take", account.name, "online")
        if not self.work(lambda: all(map(self.is_found, self.accounts.values()))):
            self.wrong.append("accounts do not answer at the end")
        for account in self.accounts.values():
            self.wrong += [f"{account.name}: {line}" for line in self.judged(account)]

    @staticmethod
    def is_found(account):
        return account.there is not None and not set(account.said) - set(account.sent)

    def find(self, worker, words):
        verb, account = words[0], self.accounts.get(words[1]) if len(words) > 1 else None
        if verb == "have":
            worker.tell("list", account.name)
        elif verb == "list":
            account.there = words[2:]
        elif verb == "asks" and len(words) == 5:
            account.sent[int(words[2])].add(words[4])
            worker.tell("answer", account.name, *words[2:])
        elif verb == "gone":
            self.wrong.append(f"{account.name} cannot be read: {words[2]}")
            account.there = []

    @staticmethod
    def judged(account):
        """What is wrong with what was found, as lines."""
        there = account.there or []
        own = [int(word) for word in there if word[0] != "p"]
        pushed = [int(word[1:]) for word in there if word[0] == "p"]
        if lost := set(account.said) - set(own):
            yield f"has lost {sorted(lost)}"
        if lost := account.heard - set(pushed):
            yield f"has lost the updates {sorted(lost)}"
        if len(set(there)) != len(there):
            yield f"has messages twice: {there}"
        if set(own) - set(range(1, account.tried + 1)):
            yield f"has what nobody said: {own}"
        if set(account.said) - set(account.sent):
            yield f"has not sent {sorted(set(account.said) - set(account.sent))}"
        if twice := [number for number, ids in account.sent.items() if len(ids) > 1]:
            yield f"has sent twice: {twice}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--accounts", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--frozen", action="store_true")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tideline-failover-")
    pathlib.Path(folder).chmod(0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # The servers end, too.
    began = time.monotonic()
    failover = Failover(arguments, folder)
    print(f"failover: {arguments.accounts} accounts, {arguments.workers} workers")
    print("  seconds until an account goes on: accounts, half, 95 %, all")
    try:
        failover.run()
    finally:
        for worker in failover.hired:
            worker.process.kill()
        for name in ("one", "two"):
            subprocess.run(["sh", HERE / "server.sh", "stop", f"{folder}/{name}"], check=False)
        shutil.rmtree(folder, ignore_errors=True)
    for what, count in sorted(failover.counts.items()):
        if " " in what:
            failover.report(what, count)
    failover.report("seconds", round(time.monotonic() - began))
    for line in failover.wrong[:50]:
        print(f"  WRONG: {line}")
    print(f"failover: {int(not failover.wrong)} passed, {int(bool(failover.wrong))} failed")
    return int(bool(failover.wrong))


if __name__ == "__main__":
    sys.exit(main())

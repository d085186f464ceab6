"""What an adapter, the library and a real server hold together, with faults: `make interop`.

    run.py FOLDER [MESSAGES]

Which server it is says PYTHONPATH, as for examples/adapted/try.py. What is right is what people
did, in the order of the server's own file. The last line sums it.
"""
import json
import math
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import tideline
from bridge import Bridge
from play import KEY, LACKS, PAGES, Host, Lines, difference, false_claims
from server import NAME, PROFILE, Person, Server
from story import Story
from tideline import OperationState

MESSAGES, MISSED, REDACTED, EDITED, REACTED = 2_000, 600, 40, 40, 60
CLIENT_KILLS, SERVER_KILLS, LOST_ANSWERS, LOST_SENDS, BACKDATED = 20, 4, 50, 10, 10


class Run:
    """One server, one room, and a client with its file."""

    def __init__(self, folder, messages):
        self.folder, self.messages, self.dice = folder, messages, random.Random(31)
        self.lines = Lines(NAME, is_full=messages == MESSAGES)
        self.server = Server(folder / "server")
        self.jan, self.eva = Person(self.server, "jan"), Person(self.server, "eva")
        self.room = self.jan.found("Harbour", [self.eva])
        self.story = Story(self.server, self.jan, self.room)
        self.path = folder / "eva.tideline"

    # What is looked at

    def open(self, path=None):
        host = Host(self.eva, PROFILE, path or self.path)
        host.connect()
        return host

    def certificate(self, name, client):
        false = false_claims(client, self.room, self.story.truth(), is_fresh=True)
        self.lines.note({"false claims": len(false)})
        self.lines.check(f"{name}: no claim is false", not false, f"{false[:3]}" if false else "")

    def equal(self, name, host):
        """At rest all that is shown is what is in the room, and in its order."""
        shown, is_whole = host.shown(self.room)
        found = difference(shown, self.story.truth())
        self.lines.note(found)
        self.lines.check(f"{name}: the list is the room", is_whole and not found,
                         f"({len(shown)} shown, {found or 'no difference'}, "
                         f"{'whole' if is_whole else 'not whole'})")
        rows = host.client.messages(self.room, limit=10_000).messages
        wrong = [row.id for row in rows if row.id in self.story.texts and
                 json.loads(row.reactions_json or b"{}") != self.story.reactions.get(row.id, {})]
        self.lines.check(f"{name}: reactions are those of the room", not wrong,
                         f"({len(wrong)} differ)" if wrong else "")
        self.certificate(name, host.client)

    def counted(self, name, host, rows):
        """All requests against the fewest pages of that size, and two more."""
        asked, largest = host.counted()
        fewest = max(1, math.ceil(rows / largest)) if largest else 0
        count = sum(asked.values())
        self.lines.most = max(self.lines.most, count - fewest)
        pages = sum(asked.get(verb, 0) for verb in PAGES)
        self.lines.check(f"{name}: at most two requests more than needed", count <= fewest + 2,
                         f"({count}, {pages} of them pages of {largest}; at least {fewest})")

    def nothing_new(self, name, path=None):
        """Another process, and nothing has happened."""
        host = self.open(path)
        host.sync(self.room)
        asked, _ = host.counted()
        self.lines.check(f"{name}: at most two requests", sum(asked.values()) <= 2, f"({asked})")
        host.close()

    # The phases

    def fill(self):
        began = time.monotonic()
        for _ in range(0, self.messages, 500):
            self.story.say(500)
        self.lines.figure("messages a second", round(
            self.messages / (time.monotonic() - began)))

    def fresh(self):
        began = time.monotonic()
        host = self.open()
        host.sync(self.room)
        host.scroll(self.room)
        self.counted("fresh", host, self.messages)
        self.lines.figure("seconds to read all", round(time.monotonic() - began, 1))
        self.equal("fresh", host)
        host.close()
        self.nothing_new("nothing new")

    def offline(self):
        """Away while much happens."""
        shutil.copytree(self.folder, self.folder.parent / "older", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("server"))
        self.story.say(MISSED)
        keys = self.dice.sample(self.story.theirs(), REDACTED + EDITED + REACTED)
        self.redact(keys[:REDACTED])
        self.edit(keys[REDACTED:REDACTED + EDITED])
        if "react" not in LACKS:
            self.story.react(keys[REDACTED + EDITED:])
        host = self.open()
        host.sync(self.room)
        self.counted("away while 600 came", host, MISSED)
        self.equal("away while 600 came", host)
        host.close()
        # What came close together may be read once more, and no third time.
        for _ in range(2):
            host = self.open()
            host.sync(self.room)
            host.close()
        self.nothing_new("away while 600 came, and then nothing")

    def edit(self, keys):
        if "edit" not in LACKS:
            self.story.edit(keys)

    def redact(self, keys):
        self.story.redact(keys)

    def kills(self):
        """A client that fetches all and sends, killed at any step; and the server with it."""
        path, found = self.folder / "killed.tideline", []
        with_server = set(self.dice.sample(range(CLIENT_KILLS), SERVER_KILLS))
        for turn in range(CLIENT_KILLS):
            self.story.say(5)
            self.edit(self.dice.sample(self.story.theirs(), 1))
            self.redact(self.dice.sample(self.story.theirs(), 1))
            bridge, text = Bridge(self.eva.adapter), f"killed {turn}"
            self.story.sent(text, text)
            worker = subprocess.Popen(
                [sys.executable, "-B", str(pathlib.Path(__file__).with_name("worker.py")),
                 str(bridge.port), str(path), self.eva.id, self.room, text],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            steps, left = [], self.dice.randrange(1, 90)
            for line in worker.stdout:
                steps.append(line.strip())
                if len(steps) >= left or steps[-3:] == ["rest"] * 3 or steps[-1] == "closed":
                    break
            if turn in with_server:
                self.server.end(signal.SIGKILL)
            worker.kill()
            worker.wait()
            worker.stdout.close()
            worker.stdin.close()
            bridge.close()
            if turn in with_server:
                self.server.start()
                self.jan.enter(self.room)
            with tideline.Client(path, KEY, user_id=self.eva.id, profile=PROFILE) as client:
                found += [(turn, steps[-1:], each) for each in false_claims(
                    client, self.room, self.story.truth())]
        self.lines.note({"false claims": len(found)})
        self.lines.check("killed: no claim is false at any kill", not found,
                         f"{found[:3]}" if found else "")
        host = self.open(path)
        host.sync(self.room)
        host.scroll(self.room)
        self.decide("killed", host)
        self.equal("killed", host)
        host.close()
        host = self.open()
        host.sync(self.room)
        self.equal("beside the one that was killed", host)
        host.close()

    def decide(self, name, host):
        """What was sent and not found is the user's to decide: he has it sent again."""
        there = {client_id for _, client_id in self.story.server.listed(self.room)}
        stuck = [each for each in host.client.operations(self.room, open_only=True, limit=1_000)
                 if each.state in (OperationState.UNKNOWN, OperationState.REFUSED)]
        self.lines.check(f"{name}: nothing that arrived is called unknown", not any(
            each.client_id in there for each in stuck), f"({len(stuck)} are asked about)")
        for each in stuck:
            host.client.operation_retry(each.id)
        host.settle()
        doubled = self.story.doubled()
        self.lines.note({"doubled": len(doubled)})
        self.lines.check(f"{name}: nothing was sent twice", not doubled)

    def answers(self):
        """Sends whose answers are lost with their connections, and sends that are lost."""
        host = self.open()
        host.sync(self.room)
        for number in range(LOST_ANSWERS + LOST_SENDS):
            text = f"lost {number}"
            self.story.sent(text, text)
            host.lose(text, self.room, reaches=number < LOST_ANSWERS)
        self.lines.check("lost answers: as many as were to be", host.lost == LOST_ANSWERS +
                         LOST_SENDS, f"({host.lost})")
        self.lines.figure("sends that the user is asked about",
                          host.client.state().operations_stuck)
        self.decide("lost answers", host)
        there = [client_id for _, client_id in self.server.listed(self.room)]
        self.lines.check("lost answers: each was sent once", all(
            there.count(f"lost {number}") == 1 for number in range(LOST_ANSWERS + LOST_SENDS)))
        host.sync(self.room)
        self.equal("lost answers", host)
        host.close()

    def backups(self):
        """An older file of the client's, and an older one of the server's."""
        older = self.folder.parent / "older" / "eva.tideline"
        host = self.open(older)
        host.sync(self.room)
        host.scroll(self.room)
        self.equal("the client's file put back", host)
        host.close()
        saved = self.folder.parent / "saved"
        self.server.end()
        shutil.copytree(self.folder / "server", saved, dirs_exist_ok=True)
        self.server.start()
        self.jan.enter(self.room)
        known = dict(self.story.texts), dict(self.story.reactions)
        self.story.say(30)
        self.edit(self.story.theirs()[-40:-35])
        self.redact(self.story.theirs()[-45:-43])
        host = self.open()
        host.sync(self.room)
        self.equal("before the server is put back", host)
        host.close()
        self.server.end()
        shutil.rmtree(self.folder / "server")
        shutil.copytree(saved, self.folder / "server")
        self.server.start()
        self.jan.enter(self.room)
        self.story.texts, self.story.reactions = known
        self.story.say(7)
        self.moments("the server put back")
        host = self.minute()
        self.lines.figure("restores that the library saw", self.restores)
        self.equal("the server put back", host)
        host.close()

    def moments(self, name):
        """A copy of the file, opened for moments, three times, by a reader who scrolls: what one
        process has doubted the next one has to look at."""
        path = self.folder / "moments.tideline"
        for old in self.folder.glob("moments.tideline*"):
            old.unlink()
        for part in self.folder.glob("eva.tideline*"):
            shutil.copy(part, part.with_name(part.name.replace("eva", "moments")))
        for turn in range(3):
            host = self.open(path)
            host.sync(self.room)
            host.scroll(self.room)
            if turn < 2:
                host.close()
        shown, is_whole = host.shown(self.room)
        found = difference(shown, self.story.truth())
        self.lines.note({"false claims": int(is_whole and bool(found))})
        self.lines.check(f"{name}: processes of moments see it", is_whole and not found,
                         f"({found or 'no difference'}, {'whole' if is_whole else 'not whole'})")
        host.close()

    def minute(self):
        """A process that lasts for more than the minute after which a loss is believed, and then
        another one."""
        self.restores = 0
        for turn in range(2):
            host = self.open()
            host.sync(self.room)
            host.scroll(self.room)
            host.ahead_ms += 61_000
            host.settle()
            host.sync(self.room)
            host.scroll(self.room)
            self.restores += host.client.stats().restores
            if turn < 1:
                host.close()
        return host

    def purge(self):
        """Half the history goes, by a retention of the server's."""
        keys = [key for key, _ in self.story.truth()]
        middle = keys[len(keys) // 2]
        self.server.purge(self.room, middle)
        self.jan.enter(self.room)
        for key in keys[:len(keys) // 2]:
            self.story.texts.pop(key, None)
        self.story.say(5)
        self.moments("half is purged")
        host = self.minute()
        self.lines.check("half is purged: no restore is seen", not self.restores,
                         f"({self.restores})")
        self.equal("half is purged", host)
        host.close()
        host = self.open(self.folder / "fresh.tideline")
        host.sync(self.room)
        host.scroll(self.room)
        self.equal("a fresh file at the end", host)
        host.close()

    def back(self):
        """Messages that are stamped hours before those that they follow."""
        self.story.texts.update(self.server.backdate(
            self.room, [f"dated back {number}" for number in range(BACKDATED)], hours=5))
        self.jan.enter(self.room)
        self.story.say(60)
        host = self.open()
        host.sync(self.room)
        self.equal("dated back", host)
        host.close()

    def run(self):
        for phase in (self.fill, self.fresh, self.offline, self.answers, self.kills, self.backups,
                      self.back, self.purge):
            if {self.back: "backdate", self.purge: "purge"}.get(phase) in LACKS:
                self.lines.figure(f"left out, for {NAME} has nothing for it", phase.__name__)
                continue
            began = time.monotonic()
            phase()
            self.lines.figure(f"seconds of {phase.__name__}", round(time.monotonic() - began))


def main(folder, messages):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "now").mkdir(parents=True)
    began, run = time.monotonic(), Run(folder / "now", messages)
    try:
        run.run()
    finally:
        run.eva.close()
        run.jan.close()
        run.server.end()
    lines = run.lines
    for name in lines.wrong:
        print(f"interop: {NAME}: WRONG: {name}")
    sums = ", ".join(f"{count} {name}" for name, count in lines.sums.items())
    print(f"interop: {NAME}: {lines.right} right, {len(lines.expected)} expected "
          f"and not right, {len(lines.wrong)} wrong; {sums}; at most {lines.most} requests more "
          f"than needed; {round(time.monotonic() - began)} s")
    return int(bool(lines.wrong))


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or [MESSAGES])[0])))

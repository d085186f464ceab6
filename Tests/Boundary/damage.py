#!/usr/bin/env python3
"""Harms pages of a large file and says what is left of it: `make damage`, not part of the tests.

    python damage.py [--messages N] [--trials N] [--seed N]

Each trial destroys, swaps or puts back 1, 10 or 100 pages, opens the file (or salvages it, where it
does not open), checks and heals it, and syncs conversations with the server. It prints how often
each of these ended how, and ends with 1 where something happened that must not.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import random
import shutil
import sys
import tempfile
import time

import tideline

KEY = bytes(range(32))
HEADER, PAGE = 8_192, 4_096
OPERATIONS, DRAFTS = 40, 20


class Server:
    """Conversations of equal length; answers requests for their messages."""

    def __init__(self, messages, rooms):
        self.rooms = {f"room{room}": [self.message(f"room{room}", n)
                                      for n in range(messages // rooms)]
                      for room in range(rooms)}

    @staticmethod
    def message(room, n):
        words = random.Random(f"{room} {n}").choices(["harbour", "plaice", "ebb"], k=n % 40)
        return {"message_id": f"{room}-{n:06}", "conversation_id": room, "sender_id": "you",
                "created_at": f"2024-05-{1 + n // 86_400:02}T{n // 3600 % 24:02}:"
                              f"{n // 60 % 60:02}:{n % 60:02}",
                "payload": f"{n} {' '.join(words)}", "read_by": []}

    def data(self, request):
        if request["type"] == "get_deleted_since":
            return {"message_ids": []}
        if request["type"] != "get_messages":
            return {}
        everything = self.rooms[request["conversation_id"]]
        after = request.get("after_ts", "")
        chosen = [one for one in everything if one["created_at"] >= after] if after else everything
        end = len(chosen) - request["offset"]
        return {"messages": chosen[max(0, end - request["limit"]):max(0, end)],
                "total_count": len(everything), "has_more": end > request["limit"],
                "server_time": "2024-06-01T00:00:00"}

    def serve(self, client):
        """Answers what the client asks; sends of the user are to be tried an hour later."""
        while (frame := client.next_frame()) is not None:
            client.frame_sent(frame.id)
            request = json.loads(frame.bytes)
            head = {"type": request["type"], "request_id": request["request_id"]}
            if request["type"] == "send_message":
                head |= {"status": "error", "error": {"code": "unavailable", "message": "later",
                                                      "retry_after_ms": 3_600_000}}
            else:
                head |= {"status": "ok", "data": self.data(request)}
            client.receive(json.dumps(head))

    def sync(self, client, room):
        client.sync(room, tideline.SyncKind.OLDER, want=1_000_000)
        self.serve(client)
        client.sync(room)
        self.serve(client)


def open_client(path, existing=True):
    return tideline.Client(path, KEY, user_id="me", existing=existing, profile=tideline.Profile(
        page_limit=500, truncates=tideline.Truncates.OLDEST))


def finish(work):
    while not work.step(0).is_done:
        pass
    return work


class Original:
    """The file before it is harmed, its pages of some time earlier, and what only it has."""

    def __init__(self, folder, server):
        self.path = folder / "original"
        self.server = server
        rooms = list(server.rooms)
        with open_client(self.path, existing=False) as client:
            client.connected()
            for room in rooms[:-len(rooms) // 4]:
                server.sync(client, room)
        self.earlier = self.path.read_bytes()
        with open_client(self.path) as client:
            client.connected()
            for room in rooms[-len(rooms) // 4:]:
                server.sync(client, room)
            client.disconnected()
            for number in range(OPERATIONS):
                client.send(rooms[number % len(rooms)], f"waits {number} " + "x" * 700)
            for room in rooms[:DRAFTS]:
                client.draft(room, f"draft of {room}")
            self.own = own_work(client, rooms)
        self.bytes = self.path.read_bytes()
        self.pages = (len(self.bytes) - HEADER) // PAGE

    def harmed(self, path, kind, count, chance):
        """Writes the file with so many of its pages harmed; gives how many differ."""
        shutil.copyfile(self.path, path)
        shutil.copyfile(f"{self.path}-own", f"{path}-own")
        changed = {}

        def page(number, source=self.bytes):
            return source[HEADER + number * PAGE:HEADER + (number + 1) * PAGE]

        for number in chance.sample(range(self.pages), min(count, self.pages)):
            if kind == "destroyed":
                changed[number] = chance.randbytes(PAGE)
            elif kind == "swapped":
                other = chance.randrange(self.pages)
                changed[number], changed[other] = page(other), page(number)
            elif len(old := page(number, self.earlier)) == PAGE:
                changed[number] = old
        with open(path, "r+b") as file:
            for number, bytes_ in changed.items():
                file.seek(HEADER + number * PAGE)
                file.write(bytes_)
        return [number for number, bytes_ in changed.items() if bytes_ != page(number)]


def own_work(client, rooms):
    """The user's own work, in a form that can be compared."""
    operations = sorted((one.conversation, one.request)
                        for one in client.operations(limit=1_000))
    drafts = []
    for room in rooms:
        with contextlib.suppress(tideline.NotFoundError):
            if draft := client.conversation(room).draft:
                drafts.append((room, draft))
    return operations, drafts


class Trial:
    def __init__(self, original, folder, kind, count, chance, table):
        self.original, self.chance, self.table = original, chance, table
        self.path = folder / "harmed"
        self.name = f"{kind} {count}"
        for old in folder.glob("harmed*"):
            old.unlink()
        self.harmed = original.harmed(self.path, kind, count, chance)
        self.faults = []

    def note(self, what, how="ok"):
        self.table[self.name, what, how] += 1

    def tried(self, what, function, *also):
        try:
            result = function()
        except tideline.TidelineError as error:
            self.note(what, type(error).__name__)
            if isinstance(error, tideline.InternalError) or "must" in also:
                self.faults.append(f"{what}: {error!r}")
            return None
        self.note(what)
        return result if result is not None else True

    def run(self):
        begin = time.monotonic()
        client = self.tried("open", lambda: open_client(self.path))
        if time.monotonic() - begin > 1:
            self.note("open", "took more than 1 s")
        if client is None:
            target = pathlib.Path(f"{self.path}.saved")
            self.tried("salvage", lambda: finish(tideline.salvage(
                self.path, KEY, target, user_id="me")), "must")
            client = self.tried("open what was salvaged", lambda: open_client(target), "must")
            if client is None:
                return
        with client:
            self.read(client)
            work = self.tried("check and heal", lambda: finish(client.check(heal=True)), "must")
            if work:
                self.note("pages found", "all" if work.checked().damaged >= len(self.harmed)
                          else "fewer")
            self.compare(client)
        client = self.tried("open again", lambda: open_client(
            self.path if not pathlib.Path(f"{self.path}.saved").exists()
            else f"{self.path}.saved"), "must")
        if client is not None:
            with client:
                self.compare(client, "later")

    def read(self, client):
        """Before it is healed: a read fails or says the truth."""
        for room in self.chance.sample(list(self.original.server.rooms), 5):
            page = self.tried("read", lambda room=room: client.messages(room, limit=10_000))
            if page:
                self.right(room, page)

    def right(self, room, page):
        known = {one["message_id"]: one["payload"] for one in self.original.server.rooms[room]}
        for row in page.messages:
            if row.id in known and json.loads(row.payload) != known[row.id]:
                self.faults.append(f"{row.id} says {row.payload}")
        return [row.id for row in page.messages if row.id in known]

    def compare(self, client, when="healed"):
        rooms = list(self.original.server.rooms)
        found = self.tried(f"own work, {when}", lambda: own_work(client, rooms), "must")
        if found and found != self.original.own:
            self.note(f"own work, {when}", "differs")
            self.faults.append(
                f"own work {when}: {len(found[0])} operations, {len(found[1])} drafts")
        if when == "later":
            return
        client.connected()
        # Those with gaps, and two more.
        chosen = [room for room in rooms if not self.whole(client, room)]
        self.table[self.name, "conversations with gaps", "sum"] += len(chosen)
        for room in {*self.chance.sample(chosen, min(3, len(chosen))),
                     *self.chance.sample(rooms, 2)}:
            sync = self.original.server.sync
            if self.tried("sync", lambda room=room: sync(client, room)) is None:
                # Two pages that contradict each other are met only there.
                self.tried("heal once more", lambda: finish(client.check(heal=True)), "must")
                self.tried("sync, healed", lambda room=room: sync(client, room), "must")
            page = self.tried("read, synced", lambda room=room: client.messages(
                room, limit=10_000), "must")
            shown = self.right(room, page) if page else None
            wanted = [one["message_id"] for one in self.original.server.rooms[room]]
            if shown is not None and shown != wanted:
                self.faults.append(f"{room} shows {len(shown)} of {len(wanted)} rows when synced, "
                                   f"{'whole' if page.coverage.whole else 'with gaps'}")

    def whole(self, client, room):
        try:
            return client.messages(room, limit=10_000).coverage.whole
        except tideline.NotFoundError:
            return False


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=20_000)
    arguments.add_argument("--trials", type=int, default=20, help="of each of nine kinds")
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    table, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        original = Original(folder, Server(chosen.messages, max(20, chosen.messages // 1_000)))
        print(f"{chosen.messages} messages, {original.pages} pages")
        for trial in range(chosen.trials):
            for kind in ("destroyed", "swapped", "old"):
                for count in (1, 10, 100):
                    seed = f"{chosen.seed} {trial} {kind} {count}"
                    one = Trial(original, folder, kind, count, random.Random(seed), table)
                    one.run()
                    for fault in one.faults:
                        print(f"trial {seed}: {fault}", flush=True)
                    faults += one.faults
    for (name, what, how), count in sorted(table.items()):
        print(f"{name:14} {what:28} {how:24} {count}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

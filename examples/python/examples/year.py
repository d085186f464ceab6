#!/usr/bin/env python3
"""A year is missed, and the file holds three months: what a screen shows meanwhile, and a mirror.

    python year.py 7400 eva CONVERSATION FILE

Needs the reference server with --server-time, whose clock it moves. Old messages are edited and
deleted while nobody is connected. What is on the screen stays and shows the edits, what is beyond
the budget is purged in slices, and a subscriber who keeps tables of its own is told of each
message once. Ends with 0 only when all of that was so.
"""

import json
import os
import socket
import sys

import tideline
from tideline import At, Budget, ChangeKind, MessageFlags, SyncKind, SyncPhase

DAY, MONTHS_US = 86_400, 92 * 86_400 * 1_000_000


class Line:
    """A connection to the server, which speaks JSON lines."""

    def __init__(self, port, user):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.lines = self.socket.makefile("rb")
        self.ask({"type": "hello", "user": user})

    def send(self, data):
        self.socket.sendall(data + b"\n")

    def read(self):
        return self.lines.readline().rstrip(b"\n")

    def ask(self, request):
        """Asks one thing; other frames that come are left aside."""
        self.send(json.dumps(request).encode())
        while True:
            answer = json.loads(self.read())
            if answer.get("type") == request["type"]:
                return answer.get("data", {})

    def close(self):
        self.lines.close()
        self.socket.close()


class Mirror:
    """Tables of the host's own, filled as docs/reference/retention.md says."""

    def __init__(self, client, conversation):
        self.client, self.conversation = client, conversation
        self.seq, self.rows, self.ids, self.told = 0, {}, {}, {}

    def pull(self):
        while entries := self.client.changes(self.seq, 1_000).entries:
            for entry in entries:
                if entry.kind in (ChangeKind.INSERTED, ChangeKind.UPDATED):
                    for row in self.client.numbered(
                            self.conversation, entry.first, entry.last, 1_000):
                        if row.id not in self.rows:
                            self.told[row.id] = self.told.get(row.id, 0) + 1
                        self.rows[row.id] = row.json
                        self.ids[row.number] = row.id
                elif entry.kind is ChangeKind.REMOVED:
                    for number in range(entry.first, entry.last + 1):
                        self.rows.pop(self.ids.get(number), None)
                self.seq = entry.seq


def turn(client, line, between):
    """Carries frames until nothing is under way; `between` runs after each answer."""
    while True:
        for frame in client.frames():
            line.send(frame.bytes)
            client.frame_sent(frame.id)
        if not client.state().requests_in_flight:
            return
        client.receive(line.read())
        between()


def listed(line, conversation):
    """The server's own list, page by page."""
    found = {}
    while True:
        page = line.ask({"type": "get_messages", "conversation_id": conversation, "limit": 100,
                         "offset": len(found)})["messages"]
        before = len(found)
        found.update((row["message_id"], row["payload"]) for row in page)
        if len(found) == before:
            # What is for the clients and not for people is shown nowhere.
            return {id: payload for id, payload in found.items() if "_control" not in payload}


def main():
    port, user, conversation, path = int(sys.argv[1]), *sys.argv[2:]
    wrong = []

    def check(fact, holds):
        print(f"  {'yes' if holds else 'NO '} {fact}")
        if not holds:
            wrong.append(fact)

    admin = Line(port, user)

    def post(count, days):
        for _ in range(count // 100):
            admin.ask({"type": "admin_post", "conversation_id": conversation, "count": 100,
                       "over_s": days * DAY * 100 // count})

    def server(kind, **more):
        admin.ask({"type": kind, "conversation_id": conversation, **more})

    post(1_500, 80)
    key = os.urandom(tideline.KEY_BYTES)
    with tideline.Client(path, key, user_id=user) as client:
        mirror = Mirror(client, conversation)
        line = Line(port, user)
        client.connected()
        while True:
            sync = client.sync(conversation, SyncKind.OLDER, want=10_000)
            turn(client, line, lambda: None)
            if client.sync_status(sync).phase is SyncPhase.ENDED:
                break
        mirror.pull()
        rows = client.messages(conversation, limit=10_000).messages
        print(f"{len(rows)} messages are here; a screen stands at one of them")
        middle = rows[-1_000]
        window = client.window(conversation, At.MESSAGE, 20, id=middle.id)
        while window.poll() is not None:
            turn(client, line, lambda: None)
        window.show(0, 20)
        turn(client, line, lambda: None)
        window.poll()
        shown = [row.id for row in window.rows(0, 20)]
        client.retain(Budget(age_us=MONTHS_US, untold=True))

        client.disconnected()
        line.close()
        edited, gone = [shown[2], shown[9], rows[-1_200].id], [shown[5], rows[-1_210].id]
        for id in edited:
            server("admin_edit", message_id=id, payload={"text": "edited in that year"})
        server("admin_delete", message_ids=gone)
        post(1_200, 365)
        print("a year passes without a connection: 1,200 new ones, 3 edited, 2 deleted")

        vanished, most = set(), 0

        def between():
            """After each answer the subscriber reads, a slice is purged, the screen is drawn."""
            nonlocal most
            mirror.pull()
            client.advance()
            if window.poll() is not None:
                there = {row.id for row in window.rows(0, 1_000)}
                vanished.update(set(shown) - there - set(gone))
            most = max(most, client.room().messages)

        line = Line(port, user)
        client.connected()
        client.sync(conversation, SyncKind.LATEST)
        for _ in range(20):
            turn(client, line, between)
            window.show(0, 20)
            window.poll()
        mirror.pull()
        # The subscriber says that it has done with all of it.
        mirror.pull()
        work = client.purge()
        while not work.step(50).is_done:
            between()
        window.poll()

        now = {row.id: row for row in window.rows(0, 1_000)}
        room, truth = client.room(), listed(admin, conversation)
        print(f"{room.messages} messages are left, {room.purged_messages} were purged")
        check("no row has gone from the screen but the one that was deleted",
              not vanished and set(shown) - set(now) == {gone[0]})
        check("the screen shows the edits", all(
            now[id].json == {"text": "edited in that year"} for id in edited[:2]))
        check("what is left is what the server has, or says that it is stale", all(
            row.id in truth and (truth[row.id] == row.json or row.flags & MessageFlags.STALE)
            for row in client.messages(conversation, limit=10_000).messages))
        check("most of what is older than three months is not here any more",
              room.purged_messages > 1_500)
        check("the subscriber has each message that the server has", set(truth) <= set(mirror.rows))
        check("and was told of each once", set(mirror.told.values()) == {1})
        window.close()
        line.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

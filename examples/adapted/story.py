"""A conversation on a real server, what was said in it, and a client that an adapter carries.

The truth is what people did, in the order in which the server's own file lists it: neither the
adapter nor the library is asked.
"""
import json
import time

import tideline


class Story:
    """What is said in a room. ``texts`` is what each message that is there says, ``own`` what the
    client was asked to send, by its client id."""

    def __init__(self, server, writer, room):
        self.server, self.writer, self.room = server, writer, room
        self.texts, self.reactions, self.own, self.count = {}, {}, {}, 0

    def say(self, count):
        """Somebody writes."""
        texts = [f"text {self.count + number} \N{SNOWMAN}" for number in range(count)]
        self.count += count
        self.texts.update(zip(self.writer.say(self.room, texts), texts))

    def theirs(self):
        """What the writer may edit and redact, the oldest first."""
        return [key for key in self.texts if self.texts[key].startswith(("text", "edited"))]

    def edit(self, keys):
        pairs = [(key, f"edited {number} {key[-6:]}") for number, key in enumerate(keys)]
        self.writer.edit(self.room, pairs)
        self.texts.update(pairs)

    def redact(self, keys):
        self.writer.redact(self.room, keys)
        for key in keys:
            del self.texts[key]
            self.reactions.pop(key, None)

    def react(self, keys, reaction="+"):
        self.writer.react(self.room, [(key, reaction) for key in keys])
        for key in keys:
            self.reactions[key] = {reaction: [self.writer.id]}

    def sent(self, operation, text):
        """The client was asked to send this; its id is the server's to tell."""
        self.own[operation] = text

    def truth(self):
        """What is to be shown: pairs of an id and a text, in the order of the room."""
        shown = []
        for key, client_id in self.server.listed(self.room):
            if key in self.texts or client_id in self.own:
                shown.append((key, self.texts.get(key, self.own.get(client_id))))
        return shown

    def doubled(self):
        """Client ids that the server has more than once."""
        ids = [client_id for _, client_id in self.server.listed(self.room) if client_id in self.own]
        return {client_id for client_id in ids if ids.count(client_id) > 1}


class Carried:
    """A client with its adapter: the loop of a host, one turn at a time. Where the client waits for
    a time-out, its clock is put forward."""

    def __init__(self, person, profile, path=None, key=None):
        self.person, self.adapter, self.asked = person, None, {}
        self.ahead_ms, self.wait_ms = 0, None
        self.client = tideline.Client(
            path, key, user_id=person.id, profile=profile, request_timeout_ms=120_000,
            clock=lambda: time.monotonic_ns() // 1_000_000 + self.ahead_ms)

    def connect(self):
        self.disconnect()
        self.adapter = self.person.adapter()
        self.client.connected()

    def disconnect(self):
        if self.adapter is not None:
            self.client.disconnected()
            self.adapter.close()
            self.adapter = None

    def close(self):
        self.disconnect()
        self.client.close()

    def carry(self, frame):
        """Takes a frame to the server."""
        verb = json.loads(frame.bytes)["type"]
        self.asked[verb] = self.asked.get(verb, 0) + 1
        self.client.frame_sent(frame.id)
        try:
            self.adapter.send(frame.bytes)
        except ConnectionError:
            self.connect()

    def turn(self, wait_s=0.02):
        """Carries what there is, both ways. Whether there was anything."""
        moved = False
        for frame in self.client.frames():
            self.carry(frame)
            moved = True
        while (came := self.adapter.receive(wait_s)) is not None:
            self.client.receive(came)
            moved = True
        self.wait_ms = self.client.advance()
        return moved

    def settle(self, turns=2_000):
        """Goes on until nothing is left to do."""
        for _ in range(turns):
            moved, state = self.turn(), self.client.state()
            if not moved and not state.syncs_left and not state.requests_in_flight \
                    and not state.operations_open:
                return
            if state.reconnect_wanted:
                self.connect()
            elif not moved:
                self.ahead_ms += self.wait_ms or 0
        raise RuntimeError(f"not at rest: {self.client.state()}")

    def wait_for(self, is_so, turns=500):
        """Goes on until something has come."""
        for _ in range(turns):
            self.turn()
            if is_so():
                return True
        return False

    def sync(self, room, kind=tideline.SyncKind.LATEST, **more):
        """Syncs, and gives how it went."""
        number = self.client.sync(room, kind, **more)
        self.settle()
        return self.client.sync_status(number)

    def scroll(self, room):
        """Down to the beginning, as a reader who scrolls."""
        while True:
            before = self.client.messages(room, limit=10_000)
            if before.coverage.whole and before.coverage.stop == tideline.Stop.START:
                return
            self.sync(room, tideline.SyncKind.OLDER, want=10_000)
            after = self.client.messages(room, limit=10_000)
            if len(after.messages) == len(before.messages):
                return

    def shown(self, room):
        """What is shown, pairs of an id and a text, the oldest first; and whether it is whole."""
        page = self.client.messages(room, limit=10_000)
        return ([(row.id, row.json) for row in page.messages
                 if tideline.MessageFlags.DELETED not in row.flags], page.coverage.whole)

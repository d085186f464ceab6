#!/usr/bin/env python3
"""Remote and local updates interleaved, step by step: what the screen shows after each.

    python interleaved.py                          against a server inside this program
    python interleaved.py 7400 eva CONVERSATION    against the reference server (TCP port)

This user, A, is on a very bad network. While A is offline, B writes two messages. A comes online,
but they do not arrive yet; A sends a message and the server takes it; only then B's come. The list
is in the order in which the server received the messages, and A's row is the same row throughout.
The steps are checked, so this ends with an error where the screen would have lied.
"""

import argparse
import dataclasses
import json
import socket
import time

import tideline

SEND = "send_message"


class ScriptedServer:
    """A server of one conversation that lives in this process, and the line to it."""

    def __init__(self):
        self.me = "a"
        self.conversation = "picnic"
        self.messages = []
        self.waiting = []
        self.sent = {}
        for text in ("who brings tea?", "I do"):
            self.post("b", {"text": text})

    def post(self, sender, payload, **more):
        number = len(self.messages) + 1
        message = {"message_id": f"m{number}", "conversation_id": self.conversation,
                   "sender_id": sender, "created_at": f"2026-05-01T10:00:{number:02}",
                   "payload": payload, **more}
        self.messages.append(message)
        return message

    def others_write(self, *texts):
        for text in texts:
            self.post("b", {"text": text})

    def dial(self):
        self.waiting = []

    def hang_up(self):
        self.waiting = []

    def send(self, frame):
        request = json.loads(frame)
        data = {}
        if request["type"] == "get_messages":
            chosen = [m for m in self.messages if m["created_at"] > request.get("after_ts", "")]
            end = len(chosen) - request.get("offset", 0)
            data = {"messages": chosen[max(0, end - request["limit"]):max(0, end)],
                    "total_count": len(self.messages)}
        elif request["type"] == "get_deleted_since":
            data = {"message_ids": []}
        elif request["type"] == SEND:
            name = request["client_id"]
            if name not in self.sent:
                self.sent[name] = self.post(self.me, request["payload"], client_id=name)
            data = {"message": self.sent[name]}
        self.waiting.append(json.dumps({"type": request["type"], "status": "ok", "data": data,
                                        "request_id": request["request_id"]}))

    def receive(self):
        """What has arrived; nothing when nothing more will come by itself."""
        frames, self.waiting = self.waiting, []
        return frames


class ReferenceServer:
    """The reference server over TCP: one JSON object a line."""

    def __init__(self, port, user, conversation):
        self.port, self.me, self.conversation = port, user, conversation
        self.connection = None
        self.rest = b""

    def others_write(self, *texts):
        """The words are the server's own. It prints whole seconds, so some pass on either side."""
        pause = {"type": "admin_advance", "over_s": 2}
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            lines = [{"type": "hello", "user": self.me}, pause,
                     {"type": "admin_post", "conversation_id": self.conversation,
                      "count": len(texts), "over_s": 2}, pause, {"type": "admin_conversations"}]
            connection.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())
            for line in connection.makefile("r", encoding="utf-8"):
                if json.loads(line).get("type") == "admin_conversations":
                    return

    def dial(self):
        self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.connection.sendall((json.dumps({"type": "hello", "user": self.me}) + "\n").encode())
        self.rest = b""

    def hang_up(self):
        self.connection.close()

    def send(self, frame):
        self.connection.sendall(frame + b"\n")

    def receive(self):
        """Lines that have arrived; waits a moment for the first."""
        self.connection.settimeout(0.2)
        try:
            self.rest += self.connection.recv(1 << 20)
        except TimeoutError:
            return []
        *lines, self.rest = self.rest.split(b"\n")
        return [line.decode() for line in lines]


class Device:
    """A's device: a client, a window on the conversation, and a network that may hold things up."""

    def __init__(self, server):
        self.server = server
        self.client = tideline.Client(user_id=server.me, profile=tideline.Profile(
            capabilities=tideline.Capabilities.IDEMPOTENT_SEND))
        self.window = self.client.window(server.conversation, count=3)
        self.rows = tideline.Rows(self.window)
        self.is_bad = False
        self.held = []

    def online(self):
        self.server.dial()
        self.client.connected()

    def offline(self):
        self.client.disconnected()
        self.server.hang_up()

    def exchange(self, is_done):
        """Sends and receives until something is so. On the bad network only the answer to a send
        comes through; everything else is held up."""
        deadline = time.monotonic() + 20
        while not is_done():
            if time.monotonic() > deadline:
                raise AssertionError("the server does not answer")
            self.client.advance()
            for frame in self.client.frames():
                self.server.send(frame.bytes)
                self.client.frame_sent(frame.id)
            for frame in self.server.receive():
                value = json.loads(frame)
                if self.is_bad and not (value.get("type") == SEND and "status" in value):
                    self.held.append(frame)
                else:
                    self.client.receive(frame)

    def network_recovers(self):
        self.is_bad = False
        for frame in self.held:
            self.client.receive(frame)
        self.held = []

    def poll(self, settles):
        diff = self.rows.poll()
        if diff is None and settles:
            self.exchange(self.is_quiet)
            diff = self.rows.poll()
        return diff

    def is_quiet(self):
        state = self.client.state()
        return (state.syncs_left == 0 and state.requests_in_flight == 0
                and state.frames_waiting == 0)


@dataclasses.dataclass
class Difference:
    """What a look at the window found: how many rows, and which ones look different now."""

    inserted: int = 0
    removed: int = 0
    moved: int = 0
    updated: int = 0
    changed: tuple = ()

    def __str__(self):
        said = [f"{count} {what}" for count, what in (
            (self.inserted, "inserted"), (self.removed, "removed"), (self.moved, "moved"),
            (len(self.changed), "changed"),
            # An update may also say that the server was asked about a row again.
            (self.updated - len(self.changed), "verified again")) if count > 0]
        return ", ".join(said) or "none"


def look(device, title, settles=False):
    """Polls the window, draws it, and gives the difference. Where it `settles`, what the window
    asks for is exchanged until nothing more comes of it."""
    def appearance(row):
        return row.id, row.state, row.stamp, row.payload

    found = Difference()
    before = {row.number: appearance(row) for row in device.rows.messages}
    while (diff := device.poll(settles)) is not None:
        for op in diff.ops:
            found.inserted += op.count * (op.kind == tideline.OpKind.INSERT)
            found.removed += op.count * (op.kind == tideline.OpKind.REMOVE)
            found.moved += op.count * (op.kind == tideline.OpKind.MOVE)
            found.updated += op.count * (op.kind == tideline.OpKind.UPDATE)
    found.changed = tuple(row.number for row in device.rows.messages
                          if before.get(row.number, appearance(row)) != appearance(row))
    print(f"\n{title}")
    print(f"  difference: {found}")
    for row in device.rows.messages:
        payload = row.json
        text = payload.get("text", "") if isinstance(payload, dict) else payload
        state = row.state.name.lower().replace("_", " ")
        print(f"  row {row.number:<4} {state:10} {row.stamp or '-':26} {row.sender}: {text:.40}")
    return found


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int, nargs="?")
    parser.add_argument("user", nargs="?", default="eva")
    parser.add_argument("conversation", nargs="?")
    arguments = parser.parse_args()
    if arguments.port is None:
        server = ScriptedServer()
    elif arguments.conversation is None:
        parser.error("name a conversation")
    else:
        server = ReferenceServer(arguments.port, arguments.user, arguments.conversation)
    device = Device(server)

    device.online()
    device.exchange(device.is_quiet)
    look(device, "1. A and B are in a conversation", settles=True)
    known = [row.number for row in device.rows.messages]

    device.offline()
    server.others_write("we meet at the harbour", "bring a blanket")
    found = look(device, "2. A is offline; B writes two messages, which A cannot know of")
    check(found == Difference(), "nothing may change")

    device.is_bad = True
    device.online()
    sent = device.client.send(server.conversation, {"text": "I come at five"})
    found = look(device, "3. A is online again, B's messages have not arrived; A sends a message")
    mine = device.rows.messages[-1]
    check((found.inserted, found.removed, found.changed) == (1, 0, ()), "one row is new")
    check(mine.number == sent.number, "it is the row that send named")
    check(mine.state != tideline.MessageState.CONFIRMED, "it is pending")

    def is_confirmed():
        return device.client.operation(sent.operation).state == tideline.OperationState.SENT

    device.exchange(is_confirmed)
    found = look(device, "4. The server has taken it")
    mine = device.rows.messages[-1]
    check((found.inserted, found.removed) == (0, 0), "no row comes or goes")
    check(found.changed == (sent.number,), "one row changes, and it is A's")
    check(mine.number == sent.number, "the row is the same one")
    check(mine.state == tideline.MessageState.CONFIRMED, "its state has changed")

    device.network_recovers()
    device.exchange(device.is_quiet)
    found = look(device, "5. B's messages arrive: they were received before A's")
    numbers = [row.number for row in device.rows.messages]
    check((found.inserted, found.removed, found.changed) == (2, 0, ()), "two rows are new")
    check(numbers[:-3] == known and numbers[-1] == sent.number, "in the server's order")
    stamps = [row.time_us for row in device.rows.messages]
    check(stamps == sorted(stamps), "in the order of time")
    device.window.close()
    device.client.close()
    print("\ninterleaved: one state change and two inserts, no row twice and none lost")


if __name__ == "__main__":
    main()

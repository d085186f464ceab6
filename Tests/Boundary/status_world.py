"""The worlds that the calls of statuses.py are made in: clients, windows and arguments."""

import atexit
import ctypes
import json
import os
import shutil
import tempfile

import tideline
from tideline import _library as c

from support import KEY, Server, take

# In every id, text and path here, so that a reason that has one of them in it is found.
MARK = "kite"
ROOM, USER, FIRST = f"{MARK}-room", f"{MARK}-me", f"{MARK}-0"
LONG = MARK + "x" * 509
ROWS = 400
DURABLE = tideline.Profile(capabilities=tideline.Capabilities.IDEMPOTENT_SEND)
FULL_UPDATE = {"type": "update", "payload": {
    "ref": f"{MARK}-ref", "action": "new",
    "payload": {"entity": f"{MARK}-sticker", "items": [{"n": 1}]}}}
MEMBER = {"type": "update", "payload": {
    "ref": f"{MARK}-ref-2", "action": "new",
    "payload": {"entity": "member", "items": [{"conversation_id": ROOM, "user_id": USER}]}}}


def spoiled():
    """A message whose time is none: it is set aside."""
    return {"type": "message_new", "conversation_id": ROOM,
            "message": {**message(0), "message_id": f"{MARK}-spoiled", "created_at": MARK}}


def message(number):
    return {"message_id": f"{MARK}-{number}", "conversation_id": ROOM, "sender_id": f"{MARK}-you",
            "created_at": f"2024-05-01T{10 + number // 60:02}:{number % 60:02}:00",
            "payload": f"{MARK}-text " * 20, "read_by": []}


def push(number=ROWS):
    return json.dumps({"type": "message_new", "conversation_id": ROOM, "message": message(number)})


class Room(Server):
    """A server of one conversation that pages from the newest back."""

    def __call__(self, request):
        if "request_id" not in request:
            return None
        if request["type"] == "get_messages":
            newer = [m for m in self.messages if m["created_at"] > request.get("after_ts", "")]
            end = len(newer) - request.get("offset", 0)
            page = newer[max(end - request.get("limit", 50), 0):max(end, 0)]
            return {"messages": page, "total_count": len(self.messages)}
        if request["type"] == "send_message":
            return {"message": {**message(len(self.messages)), "sender_id": USER,
                                "client_id": request["client_id"]}}
        return super().__call__(request)


def server():
    room = Room()
    room.messages = [message(number) for number in range(ROWS)]
    room.rooms = [{"conversation_id": ROOM, "title": f"{MARK}-title",
                   "participant_ids": [USER], "created_at": "2024-05-01T09:00:00",
                   "updated_at": "2024-05-01T09:00:00"}]
    return room


class World:
    """What one call needs: its folder, and whatever has to stay until it has returned."""

    template = None

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix=MARK)
        self.path = os.path.join(self.folder, f"{MARK}.tideline")
        self.kept, self.batches = [], []

    def close(self):
        for batch in self.batches:
            c.library.tl_batch_free(batch)
        self.kept.clear()
        shutil.rmtree(self.folder)

    def keep(self, value):
        self.kept.append(value)
        return value

    # Arguments.

    def view(self, text=""):
        data = text if isinstance(text, bytes) else text.encode()
        return c.view(self.keep(data))

    def views(self, *texts):
        return self.keep((c.View * len(texts))(*map(self.view, texts)))

    def out(self, kind=ctypes.c_void_p):
        """A place for what a call gives."""
        return ctypes.byref(self.keep(kind()))

    def struct(self, kind, /, **fields):
        """A struct of the header; texts become views."""
        fields = {name: self.view(value) if isinstance(value, str) else value
                  for name, value in fields.items()}
        value = self.keep(kind(struct_size=ctypes.sizeof(kind), **fields))
        return ctypes.byref(value)

    def longer(self, kind, /, **fields):
        """The struct of a later caller, who uses what this library does not know."""
        small = self.struct(kind, **fields)._obj
        size = ctypes.sizeof(kind)
        large = self.keep((ctypes.c_uint64 * (size // 8 + 2))())
        ctypes.memmove(large, ctypes.byref(small), size)
        ctypes.c_uint32.from_buffer(large).value = size + 8
        ctypes.c_uint32.from_buffer(large, size).value = 1
        return ctypes.cast(large, ctypes.POINTER(kind))

    # Clients.

    def log(self):
        """A client of a server that keeps a log, with one message, in memory."""
        client = self.memory(profile=tideline.Profile(capabilities=tideline.Capabilities.LOG))
        client.connected()
        entry = {"message_id": FIRST, "sender_id": USER, "created_at": "2026-02-15T22:17:00",
                 "payload": "first"}
        client.sync(ROOM)
        for frame in client.frames():
            client.frame_sent(frame.id)
            asked = json.loads(frame.bytes)
            client.receive(json.dumps(
                {"type": asked["type"], "request_id": asked["request_id"], "status": "ok",
                 "data": {"entries": [entry], "after": "s1", "present": True}}))
        return client

    def memory(self, **more):
        """An empty client in memory."""
        return self.keep(tideline.Client(user_id=USER, log=lambda *_: None, **more))

    def known(self, path=None, **more):
        """A client with some of everything, caught up and connected."""
        client = tideline.Client(path, KEY if path else None, user_id=USER, profile=DURABLE,
                                 log=lambda *_: None, **more)
        client.connected()
        client.sync(ROOM, tideline.SyncKind.OLDER, want=ROWS)
        client.sync("", tideline.SyncKind.CONVERSATIONS)
        self.keep(client)
        take(client, server())
        for frame in (FULL_UPDATE, MEMBER, spoiled()):
            client.receive(json.dumps(frame))
        client.draft(ROOM, f"{MARK}-draft")
        client.upload = client.send(ROOM, MARK, attachment={}, upload=True).operation
        client.failed = client.send(ROOM, MARK, attachment={}, upload=True).operation
        client.operation_upload_failed(client.failed)
        client.sent = client.send(ROOM, MARK).operation
        take(client, server())
        return client

    def refilled(self, **more):
        """The same in a file of its own that was just opened: nothing of it is in memory."""
        if World.template is None:
            maker = World()
            atexit.register(maker.close)
            client = maker.known(maker.path)
            World.template = (maker, client.upload, client.failed, client.sent)
            client.close()
        maker, *operations = World.template
        shutil.copy(maker.path, self.path)
        client = self.keep(tideline.Client(self.path, KEY, user_id=USER, profile=DURABLE,
                                           log=lambda *_: None, **more))
        client.upload, client.failed, client.sent = operations
        return client

    def closed(self):
        client = self.known()
        client.close()
        return client

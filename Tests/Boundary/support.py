"""What the tests of the boundary share: messages, and a server in this process."""

import hashlib
import json
import pathlib

import tideline

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEY = bytes(range(32))


def header_sum(copy):
    """The plain sum of a copy of the header; the mark of the log counts as zeros."""
    return hashlib.blake2b(copy[:2048] + bytes(72) + copy[2120:4064], digest_size=32).digest()


def message(number, **more):
    return {"message_id": f"m{number}", "conversation_id": "c", "sender_id": "you",
            "created_at": f"2024-05-01T10:00:{number:02}", "payload": f"zpráva {number} 你好",
            "read_by": [], **more}


def answer(frame, messages):
    """What a server with these messages says to a request."""
    request = json.loads(frame.bytes)
    data = {}
    if request["type"] == "get_messages":
        chosen = [m for m in messages if m["created_at"] > request.get("after_ts", "")]
        chosen = chosen[:len(chosen) - request["offset"]] if request["offset"] else chosen
        data = {"messages": chosen, "total_count": len(messages)}
    elif request["type"] == "get_deleted_since":
        data = {"message_ids": []}
    return json.dumps({"type": request["type"], "request_id": request["request_id"],
                       "status": "ok", "data": data}, ensure_ascii=False)


def take(client, server):
    """Answers by a function of the request until there is nothing more to send: it gives `data`,
    an error as a pair of code and text, or None for no answer. Gives the requests."""
    requests = []
    while (frame := client.next_frame()) is not None:
        client.frame_sent(frame.id)
        request = json.loads(frame.bytes)
        requests.append(request)
        data = server(request)
        if data is None:
            continue
        head = {"type": request["type"], "request_id": request["request_id"]}
        if isinstance(data, tuple):
            head |= {"status": "error", "error": {"code": data[0], "message": data[1]}}
        else:
            head |= {"status": "ok", "data": data}
        client.receive(json.dumps(head, ensure_ascii=False))
    return requests


class Server:
    """A server that takes what it is sent; what a test changes is a member."""

    def __init__(self):
        self.messages = []
        self.rooms = []
        self.answers = {}

    def __call__(self, request):
        kind = request["type"]
        if kind in self.answers:
            return self.answers.pop(kind)
        if kind == "get_messages":
            return {"messages": self.messages, "total_count": len(self.messages)}
        if kind == "get_deleted_since":
            return {"message_ids": []}
        if kind == "get_conversations":
            return {"conversations": self.rooms, "total_count": len(self.rooms)}
        if kind == "send_message":
            name = f"s{len(self.messages) + 1}"
            self.messages.append({
                "message_id": name, "conversation_id": request["conversation_id"],
                "sender_id": "me", "created_at": f"2024-05-01T11:00:{len(self.messages):02}",
                "payload": request["payload"], "client_id": request["client_id"]})
            return {"message": self.messages[-1]}
        return {}


IDEMPOTENT = tideline.Profile(capabilities=tideline.Capabilities.IDEMPOTENT_SEND)


def serve(client, messages):
    """Answers requests until there are none; gives how many there were."""
    requests = 0
    while (frame := client.next_frame()) is not None:
        requests += 1
        client.frame_sent(frame.id)
        client.receive(answer(frame, messages))
    return requests

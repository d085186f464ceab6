"""An adapter to a log: frames of Tideline on one side, an invented server of logs on the other."""
import json
from datetime import datetime, timezone
from urllib.parse import quote
from urllib.request import Request, urlopen

CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 409: "conflict", 410: "unknown_cursor",
         413: "too_large", KeyError: "unsupported", ValueError: "invalid"}
KINDS = {"send_message": "text", "edit_message": "edit", "delete_message": "delete",
         "react_message": "react", "unreact_message": "unreact", "mark_read": "read"}
# What no sender may say: the server does, or the frame.
OURS = """type request_id account conversation_id message_id message_ids entry_id target_id change
    version sender_id created_at edited_at kind seq prev_id deleted moderated pinned reactions
    read_by delivered_by listened_by"""


def entry(item):
    when = datetime.fromtimestamp(item["at"] / 1000, timezone.utc).isoformat()
    said = json.loads(item["body"]) | {"sender_id": item["by"], "created_at": when}
    return said | ({"message_id": item["id"]} if item["kind"] == "text" else
                   {"entry_id": item["id"], "change": item["kind"], "target_id": item["to"]})


class Adapter:
    def __init__(self, base, user):
        self.base, self.user, self.frames = base, user, []
        self.told = self.http("GET", "/news?wait=0")["next"]

    def send(self, frame):  # every request is answered, once, with its own id, whatever happens
        want = json.loads(frame)
        answer = {"type": want["type"], "request_id": want["request_id"], "status": "ok"}
        try:
            answer["data"] = self.do(want["type"], want)
        except (OSError, LookupError, ValueError) as error:
            code = CODES.get(getattr(error, "code", type(error)), "unavailable")
            answer |= {"status": "error", "error": {"code": code}}
        self.frames.append(answer)

    def receive(self, timeout_s):  # an OSError says that the connection has ended
        if not self.frames:
            news = self.http("GET", f"/news?after={self.told}&wait={timeout_s}")
            self.told = news["next"]
            for room, data in news["rooms"].items():
                page = self.page(room, data)
                self.frames.append({"type": "entries_new", "conversation_id": room, **{
                    name: page[name] for name in ("before", "after", "entries")}})
        return json.dumps(self.frames.pop(0)).encode() if self.frames else None

    def close(self):
        self.frames.clear()

    def http(self, method, path, body=None):
        head = {"User": self.user}
        return json.load(urlopen(Request(self.base + path, json.dumps(body).encode(), head,
                                         method=method), timeout=60))

    def page(self, room, data):
        for item in data["items"]:
            if item["kind"] == "read":  # it covers more than its target
                self.frames.append({"type": "messages_read", "conversation_id": room,
                                    "user_id": item["by"], "message_ids": item["covers"]})
        return {"entries": [entry(item) for item in data["items"]], "epoch": data["history"],
                "before": data["before"], "after": data["after"], "present": data["is_newest"]}

    def do(self, verb, want):
        log = f"/rooms/{quote(want.get('conversation_id', ''), safe='')}/log"
        if verb == "get_entries":
            place = next((f"&{name}={quote(want[name], safe='')}" for name in
                          ("before", "after", "around_id") if name in want), "")
            data = self.http("GET", f"{log}?limit={want['limit']}{place}")
            page = self.page(want["conversation_id"], data)
            if data["is_oldest"]:
                del page["before"]
            return page
        said = {name: want[name] for name in want if name not in OURS.split()}
        made = self.http("POST", log, {
            "kind": KINDS[verb], "key": want.get("client_id"),
            "body": json.dumps(said, allow_nan=False),
            "to": want.get("message_ids") or [want.get("message_id")]})
        return {"message": entry(made)} if verb == "send_message" else {"entry_id": made["id"]}

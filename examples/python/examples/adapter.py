"""An adapter: frames of Tideline on one side, an invented REST server on the other."""
import json
import urllib.request
from datetime import datetime, timezone

CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 409: "conflict", 413: "too_large",
         429: "rate_limited", 501: "unsupported"}


def stamp(ms):
    when = datetime.fromtimestamp(ms / 1000, timezone.utc)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message(item):
    return {"message_id": item["id"], "sender_id": item["author"], "created_at": stamp(item["at"]),
            "payload": item["text"], "client_id": item["key"],
            "edited_at": stamp(item["edited"]) if item["edited"] else None}


class Adapter:
    def __init__(self, base):
        self.base, self.answers = base, []

    def send(self, frame):  # every request is answered, once, with its own id, whatever happens
        want = json.loads(frame)
        answer = {"type": want["type"], "request_id": want["request_id"], "status": "ok"}
        try:
            answer["data"] = self.do(want["type"], want)
        except (OSError, LookupError) as error:
            status = 501 if isinstance(error, LookupError) else getattr(error, "code", 0)
            answer |= {"status": "error", "error": {"code": CODES.get(status, "unavailable")}}
        self.answers.append(json.dumps(answer).encode())

    def receive(self, timeout_s):
        return self.answers.pop(0) if self.answers else None

    def close(self):
        self.answers.clear()

    def http(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), method=method)
        return json.load(urllib.request.urlopen(request, timeout=30))

    def do(self, verb, want):
        room = f"/rooms/{want.get('conversation_id')}"
        one = f"{room}/messages/{want.get('message_id')}"
        if verb == "get_messages" and not {"before_ts", "around_id", "around_ts"} & set(want):
            since = f"&since={want['after_ts']}" if "after_ts" in want else ""
            page = self.http("GET", f"{room}/messages?limit={want['limit']}"
                             f"&skip={want['offset']}{since}")
            return {"messages": [message(i) for i in page["items"]], "total_count": page["total"]}
        if verb == "get_deleted_since":
            return {"message_ids": self.http("GET", f"{room}/deleted?since={want['since']}")}
        method, path = {
            "send_message": ("POST", f"{room}/messages"), "edit_message": ("PUT", one),
            "delete_message": ("DELETE", one), "mark_read": ("POST", f"{room}/read")}[verb]
        made = self.http(method, path, {"text": want.get("payload"), "key": want.get("client_id"),
                                        "ids": want.get("message_ids")})
        return {"message": message(made)} if "author" in made else {}

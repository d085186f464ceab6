"""An adapter: frames of Tideline on one side, a Matrix homeserver on the other.

A room is a log: order of arrival, opaque tokens, edits, reactions and redactions as later entries.
Pages are those of `/messages`, pushes those of `/sync`. A connection is one object, used by one
thread.
"""
import json
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote, urlencode

from carrier import Carrier, Unsupported, stamp, text

CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 413: "too_large", 429: "rate_limited"}
KEY = "org.tideline.client_id"
# An event has 64 KiB, and an edit says its text twice: beyond this that for old clients is short.
FALLBACK_BYTES = 24_000
FILTER = json.dumps({"room": {"timeline": {"limit": 500}, "state": {"lazy_load_members": True}}})


class Purged(Exception):
    """The log of a room that may be read does not hold an event."""
    code = 404


def entry(event):
    """An event of a room as an entry of its log."""
    key, content = event["event_id"], event.get("content") or {}
    about, kind = content.get("m.relates_to") or {}, event["type"]
    target, gone = about.get("event_id"), "redacted_because" in (event.get("unsigned") or {})
    made = {"sender_id": event["sender"], "created_at": stamp(event["origin_server_ts"] * 1_000)}
    if kind == "m.room.message" and gone:
        return {"message_id": key, "payload": None, "deleted": True, **made}
    if kind == "m.room.message" and "body" in content and about.get("rel_type") != "m.replace":
        return {"message_id": key, "payload": content["body"], "client_id": content.get(KEY),
                **made}
    made |= {"entry_id": key, "change": "none"}
    if gone:
        made["deleted"] = True
    elif kind == "m.room.redaction":
        made |= {"change": "delete", "target_id": event.get("redacts") or content.get("redacts")}
    elif kind == "m.room.message" and target:
        made |= {"change": "edit", "target_id": target,
                 "payload": (content.get("m.new_content") or content).get("body")}
    elif kind == "m.reaction" and target and about.get("key"):
        made |= {"change": "react", "target_id": target, "reaction": about["key"]}
    return made


class Listed:
    """What `/sync` has told of a user's rooms, and where it goes on. A host keeps it, and the next
    connection begins with a copy: it is told what has changed, and not all of it again."""

    def __init__(self):
        self.since, self.titles, self.unread, self.last = None, {}, {}, {}

    def take(self, other):
        self.since = other.since
        self.titles, self.unread, self.last = (
            dict(other.titles), dict(other.unread), dict(other.last))


class Adapter(Carrier):
    def __init__(self, base, token, user, listed=None):
        super().__init__()
        self.base, self.token, self.user = base, token, user
        self.kept, self.rooms, self.run = listed or Listed(), Listed(), uuid.uuid4().hex
        self.asked, self.is_synced = set(), False
        self.rooms.take(self.kept)

    def close(self):
        self.kept.take(self.rooms)
        self.queue.clear()

    def http(self, method, path, body=None, timeout=30, version="v3"):
        request = urllib.request.Request(
            f"{self.base}/_matrix/client/{version}{path}", None if body is None else
            json.dumps(body).encode(), {"Authorization": f"Bearer {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    # What comes unasked

    def listen(self, timeout_s):
        if self.is_synced:
            self.sync(min(timeout_s, 20))

    def sync(self, wait_s):
        """Takes what is new, and pushes it where the room was asked for. A `/sync` goes on from the
        one before, unless it is limited: so the entry before is known."""
        rooms = self.rooms
        query = {"timeout": int(wait_s * 1000), "filter": FILTER,
                 **({"since": rooms.since} if rooms.since else {})}
        new = self.http("GET", f"/sync?{urlencode(query)}", timeout=wait_s + 30)
        rooms.since, self.is_synced = new["next_batch"], True
        for name in new.get("rooms", {}).get("leave", {}):
            rooms.titles.pop(name, None)
        for name, part in new.get("rooms", {}).get("join", {}).items():
            counts, events = part.get("unread_notifications", {}), part["timeline"]["events"]
            rooms.unread[name] = counts.get("notification_count", 0)
            rooms.titles.setdefault(name, name)
            for event in [*part.get("state", {}).get("events", []), *events]:
                if event["type"] == "m.room.name":
                    rooms.titles[name] = event["content"].get("name") or name
            prev = None if part["timeline"].get("limited") else rooms.last.get(name)
            if events and name in self.asked:
                self.put({"type": "entries_new", "conversation_id": name,
                          "entries": [entry(event) for event in events],
                          **({"prev": prev} if prev else {})})
            if events:
                rooms.last[name] = events[-1]["event_id"]
            for event in part.get("ephemeral", {}).get("events", []):
                for key, kinds in event["content"].items() if event["type"] == "m.receipt" else []:
                    for who in kinds.get("m.read", {}) if name in self.asked else []:
                        self.put({"type": "messages_read", "conversation_id": name,
                                  "user_id": who, "message_ids": [key]})

    def catch_up(self):
        try:
            self.sync(0)
        except urllib.error.HTTPError as error:
            if not self.rooms.since or error.code != 400:
                raise
            self.rooms.since = None  # It knows that token no more.
            self.sync(0)

    # What is asked

    def latest(self, there, keys):
        """Which of these stands last in the room: it is looked for from the room's end."""
        token = None
        for _ in range(20):
            page = self.http("GET", f"{there}/messages?limit=500&dir=b" +
                             (f"&from={quote(token)}" if token else ""))
            found = next((event["event_id"] for event in page["chunk"]
                          if event["event_id"] in keys), None)
            token = page.get("end")
            if found or not token:
                return found or min(keys)
        return min(keys)

    def mark(self, there, key):
        """A receipt for the room; a message of a thread takes one only without its thread."""
        path = f"{there}/receipt/m.read/{quote(key)}"
        try:
            self.http("POST", path, {"thread_id": "main"})
        except urllib.error.HTTPError as error:
            if error.code != 400:
                raise
            self.http("POST", path, {})

    def entries(self, there, want):
        """A page of the log, by `/messages` or `/context`."""
        if "around_id" in want:
            try:
                page = self.http("GET", f"{there}/context/{quote(want['around_id'])}?"
                                 f"limit={want['limit'] - 1}")
            except urllib.error.HTTPError as error:
                # What holds the state of a room is there when its history is purged, and forbidden.
                if error.code == 403 and self.http("GET", f"{there}/messages?limit=1&dir=b"):
                    raise Purged from error
                raise
            events, found = [*reversed(page["events_before"]), page["event"],
                             *page["events_after"]], {"after": page["end"]}
            if events[0]["type"] != "m.room.create":
                found["before"] = page["start"]
            return {"entries": [entry(event) for event in events], **found}
        path, token = f"{there}/messages?limit={want['limit']}", want.get("after")
        if token is not None:
            page = self.http("GET", f"{path}&dir=f&from={quote(token)}")
            end = page.get("end") or token
            more = page["chunk"] and self.http(
                "GET", f"{there}/messages?limit=1&dir=f&from={quote(end)}")["chunk"]
            return {"entries": [entry(event) for event in page["chunk"]], "before": page["start"],
                    "after": end, "present": not more}
        token = want.get("before")
        page = self.http("GET", f"{path}&dir=b" + (f"&from={quote(token)}" if token else ""))
        events, found = page["chunk"][::-1], {"after": page["start"], "present": token is None}
        if page.get("end") and not (events and events[0]["type"] == "m.room.create"):
            found["before"] = page["end"]
        return {"entries": [entry(event) for event in events], **found}

    def error(self, error):
        code = CODES.get(getattr(error, "code", None), "unavailable")
        if code == "invalid" and "from=" in error.url:
            code = "unknown_cursor"
        if code == "rate_limited":
            return {"code": code, "retry_after_ms": json.load(error).get("retry_after_ms")}
        return {"code": code}

    def event(self, there, kind, key, content):
        """Puts an entry; the server knows the key again. Gives its id."""
        return self.http("PUT", f"{there}/send/{kind}/{quote(key)}", content)["event_id"]

    def redact(self, there, key, once):
        return self.http("PUT", f"{there}/redact/{quote(key)}/{once}", {"reason": "taken back"})

    def do(self, verb, want, name):
        target, there = want.get("message_id"), f"/rooms/{quote(name)}"
        once = f"{self.run}-{want['request_id']}"
        if not self.is_synced or verb == "get_conversations" and not want.get("offset"):
            self.catch_up()
        if verb == "get_conversations":
            return self.listed(want, {
                room: {"title": title, "unread_count": self.rooms.unread[room]}
                for room, title in self.rooms.titles.items()})
        if verb in ("get_entries", "subscribe"):
            self.asked.add(name)
            return self.entries(there, want) if verb == "get_entries" else {}
        if verb == "send_message":
            made = self.event(there, "m.room.message", want["client_id"], {
                "msgtype": "m.text", "body": text(want["payload"]), KEY: want["client_id"]})
            return {"message": entry(self.http("GET", f"{there}/event/{quote(made)}"))}
        if verb == "edit_message":
            new = {"msgtype": "m.text", "body": text(want["payload"])}
            is_long = len(new["body"].encode()) > FALLBACK_BYTES
            return {"entry_id": self.event(there, "m.room.message", once, {
                **new, "body": "* (edited)" if is_long else f"* {new['body']}",
                "m.new_content": new,
                "m.relates_to": {"rel_type": "m.replace", "event_id": target}})}
        if verb in ("react_message", "unreact_message"):
            there_are = self.http("GET", f"{there}/relations/{quote(target)}/m.annotation/"
                                  "m.reaction?limit=1000", version="v1")["chunk"]
            mine = [event["event_id"] for event in there_are if event["sender"] == self.user and
                    event["content"]["m.relates_to"]["key"] == want["reaction"]]
            if verb == "react_message" and not mine:
                return {"entry_id": self.event(there, "m.reaction", once, {"m.relates_to": {
                    "rel_type": "m.annotation", "event_id": target, "key": want["reaction"]}})}
            # A server knows a transaction's name again, whatever it redacts.
            for number, key in enumerate(mine if verb == "unreact_message" else []):
                self.redact(there, key, f"{once}-{number}")
        elif verb == "delete_message":
            return {"entry_id": self.redact(there, target, once)["event_id"]}
        elif verb == "mark_read":
            self.mark(there, self.latest(there, set(want["message_ids"])))
        else:
            raise Unsupported(verb)
        return {}

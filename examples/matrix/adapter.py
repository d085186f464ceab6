"""An adapter: frames of Tideline on one side, a Matrix homeserver on the other.

A room is a log: order of arrival, opaque tokens, edits and redactions as later entries. Until the
library has places for that, each room that is asked for is mirrored here in memory, and offsets,
counts and times are those of the mirror. A connection is one object, used by one thread.
"""
import json
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote, urlencode

from mirror import Carrier, Mirror, Unsupported, text

CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 413: "too_large", 429: "rate_limited"}
KEY = "org.tideline.client_id"
FILTER = json.dumps({"room": {"timeline": {"limit": 500}, "state": {"lazy_load_members": True}}})


class Room(Mirror):
    """A mirror of a room. ``reactions`` are those that count, ``edits`` what each row said, and
    ``under`` the row that an entry of any kind follows."""

    def __init__(self):
        super().__init__()
        self.reactions, self.edits, self.under = {}, {}, {}

    def take(self, event):
        """Takes an entry; gives the push that tells of it, or None."""
        key, who, content = event["event_id"], event["sender"], event.get("content") or {}
        if key in self.under:
            return None
        self.begin(event["origin_server_ts"] * 1_000)
        about = content.get("m.relates_to") or {}
        row, push = self.by_id.get(about.get("event_id")), None
        if event["type"] == "m.room.redaction":
            push = self.redact(event.get("redacts") or content.get("redacts"))
        elif event["type"] == "m.reaction" and row is not None and about.get("key"):
            self.reactions[key] = (row, about["key"], who)
            push = self.reacted(row, who)
        elif event["type"] == "m.room.message" and "body" in content:
            if about.get("rel_type") != "m.replace":
                push = self.message(key, who, content["body"], content.get(KEY))
                self.edits[key] = {key: content["body"]}
            elif row is not None and row["sender_id"] == who:
                self.edits[row["message_id"]][key] = content.get("m.new_content", content)["body"]
                push = self.edit(row, self.edits[row["message_id"]][key])
        self.under[key] = self.rows[-1] if self.rows else None
        return push

    def reacted(self, row, who):
        return self.react(row, who, [key for there, key, user in self.reactions.values()
                                     if there is row and user == who])

    def redact(self, key):
        if key in self.reactions:
            row, _, who = self.reactions.pop(key)
            return self.reacted(row, who)
        for name, texts in self.edits.items():
            if key in texts and key != name and name in self.by_id:
                del texts[key]
                return self.edit(self.by_id[name], list(texts.values())[-1])
        return self.delete(key)


class Adapter(Carrier):
    def __init__(self, base, token, user):
        super().__init__()
        self.base, self.token, self.user = base, token, user
        self.since, self.run = None, uuid.uuid4().hex
        self.titles, self.unread, self.receipts = {}, {}, {}

    def close(self):
        self.queue.clear()

    def http(self, method, path, body=None, timeout=30):
        request = urllib.request.Request(
            f"{self.base}/_matrix/client/v3{path}", json.dumps(body).encode() if body else None,
            {"Authorization": f"Bearer {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    # What comes unasked

    def listen(self, timeout_s):
        if self.since is not None:
            self.sync(min(timeout_s, 20))

    def sync(self, wait_s):
        """Takes what is new in the rooms that are mirrored; each has gone on from its mirror."""
        query = {"timeout": int(wait_s * 1000), "filter": FILTER,
                 **({"since": self.since} if self.since else {})}
        new = self.http("GET", f"/sync?{urlencode(query)}", timeout=wait_s + 30)
        self.since = new["next_batch"]
        for name, part in new.get("rooms", {}).get("join", {}).items():
            counts, events = part.get("unread_notifications", {}), part["timeline"]["events"]
            self.unread[name] = counts.get("notification_count", 0)
            self.titles.setdefault(name, name)
            for event in [*part.get("state", {}).get("events", []), *events]:
                if event["type"] == "m.room.name":
                    self.titles[name] = event["content"].get("name") or name
            if name in self.rooms and part["timeline"].get("limited"):
                token = part["timeline"]["prev_batch"]  # What lies between was left out.
                events = [*self.back(name, token, self.rooms[name].under), *events]
            for event in events if name in self.rooms else []:
                self.tell(name, self.rooms[name].take(event))
            for event in part.get("ephemeral", {}).get("events", []):
                if event["type"] == "m.receipt":
                    for key, kinds in event["content"].items():
                        self.receipts.setdefault(name, {}).update(
                            dict.fromkeys(kinds.get("m.read", {}), key))
            self.mark(name)

    def tell(self, name, push):
        if push:
            self.put({**push, "conversation_id": name})

    def mark(self, name, told=True):
        """Lays receipts over a mirror; those of entries that it has not, wait."""
        room, waiting = self.rooms.get(name), self.receipts.get(name, {})
        for who in [who for who in waiting if room and waiting[who] in room.under]:
            row = room.under[waiting.pop(who)]
            push = room.seen(row, who) if row and row["message_id"] in room.by_id else None
            if told:
                self.tell(name, push)

    def room(self, name):
        """The mirror of a room: all of its log, and from then on what comes."""
        self.sync(0)
        if name not in self.rooms:
            room = Room()
            for event in self.back(name, None, {}):
                room.take(event)
            self.rooms[name] = room
            self.mark(name, told=False)
        return self.rooms[name]

    def back(self, name, token, known):
        """What lies before a token, down to what is known; the oldest first."""
        found, path = [], f"/rooms/{quote(name)}/messages?dir=b&limit=1000"
        while True:
            page = self.http("GET", path + (f"&from={quote(token)}" if token else ""))
            found, token = found + page["chunk"], page.get("end")
            if not token or any(event["event_id"] in known for event in page["chunk"]):
                return reversed(found)

    def event(self, name, kind, key, content):
        """Puts an entry; the server knows the key again. Gives its row, where it has one."""
        path = f"/rooms/{quote(name)}/send/{kind}/{quote(key)}"
        made = self.http("PUT", path, content)["event_id"]
        while KEY in content and made not in self.room(name).under:
            self.sync(20)
        return self.room(name).by_id.get(made)

    # What is asked

    def error(self, error):
        code = CODES.get(getattr(error, "code", None), "unavailable")
        if code == "rate_limited":
            return {"code": code, "retry_after_ms": json.load(error).get("retry_after_ms")}
        return {"code": code}

    def do(self, verb, want, name):
        if verb == "get_conversations":
            self.sync(0)
            page = self.listed(want, self.titles)
            for each in page["conversations"]:
                each["unread_count"] = self.unread[each["conversation_id"]]
            return page
        room, target, there = self.room(name), want.get("message_id"), f"/rooms/{quote(name)}"
        once = f"{self.run}-{want['request_id']}"
        if (data := room.answer(verb, want)) is not None:
            return data
        if verb == "send_message":
            return {"message": self.event(name, "m.room.message", want["client_id"], {
                "msgtype": "m.text", "body": text(want["payload"]), KEY: want["client_id"]})}
        if verb == "edit_message":
            new = {"msgtype": "m.text", "body": text(want["payload"])}
            self.event(name, "m.room.message", once, {
                **new, "m.new_content": new,
                "m.relates_to": {"rel_type": "m.replace", "event_id": target}})
        elif verb in ("react_message", "unreact_message"):
            mine = [key for key, (row, reaction, who) in room.reactions.items() if
                    (row["message_id"], reaction, who) == (target, want["reaction"], self.user)]
            if verb == "react_message" and not mine:
                self.event(name, "m.reaction", once, {"m.relates_to": {
                    "rel_type": "m.annotation", "event_id": target, "key": want["reaction"]}})
            for key in mine if verb == "unreact_message" else []:
                self.http("PUT", f"{there}/redact/{quote(key)}/{once}", {"reason": "taken back"})
        elif verb == "delete_message":
            self.http("PUT", f"{there}/redact/{quote(target)}/{once}", {"reason": "deleted"})
        elif verb == "mark_read":
            for last in room.last_of(want["message_ids"]):
                self.http("POST", f"{there}/receipt/m.read/{quote(last)}", {"thread_id": "main"})
        elif verb != "subscribe":
            raise Unsupported(verb)
        return {}

"""An adapter: frames of Tideline on one side, a Matrix homeserver on the other.

A room is a log: order of arrival, opaque tokens, edits and redactions as later entries. Until the
library has places for that, each room that is asked for is mirrored here in memory, and offsets,
counts and times are those of the mirror. A connection is one object, used by one thread.
"""
import json
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone
from urllib.parse import quote, urlencode

CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 413: "too_large", 429: "rate_limited"}
KEY = "org.tideline.client_id"


def stamp(ms):
    when = datetime.fromtimestamp(ms / 1000, timezone.utc)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ms(text):
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(when.timestamp() * 1000)


class Room:
    """What a timeline makes of its entries, in the order of the log."""

    def __init__(self):
        # The rows that are there, all that were, ids that went, and when others changed.
        self.rows, self.by_id, self.gone, self.changed, self.reactions = [], {}, [], {}, {}

    def take(self, event):
        """Takes an entry; gives the push that tells of it, or None."""
        kind, content, at = event["type"], event.get("content") or {}, event["origin_server_ts"]
        about = content.get("m.relates_to") or {}
        target = self.by_id.get(about.get("event_id"))
        if kind == "m.room.redaction":
            return self.redact(event.get("redacts") or content.get("redacts"), at)
        if kind == "m.reaction" and target is not None and about.get("key"):
            self.reactions[event["event_id"]] = (target, about["key"], event["sender"])
            return self.react(target, at)
        if kind != "m.room.message" or "body" not in content or event["event_id"] in self.by_id:
            return None
        if about.get("rel_type") == "m.replace":
            if target is None or target["sender_id"] != event["sender"]:
                return None
            target |= {"payload": content.get("m.new_content", content)["body"],
                       "edited_at": stamp(at), "version": target["version"] + 1}
            self.changed[target["message_id"]] = at
            return {"type": "message_edited", "message": target}
        # A clock that was set back would break the order of times, which the library goes by.
        at = max(at, ms(self.rows[-1]["created_at"]) if self.rows else 0)
        row = {"message_id": event["event_id"], "sender_id": event["sender"], "version": 1,
               "created_at": stamp(at), "payload": content["body"], "reactions": {},
               "client_id": content.get(KEY)}
        self.rows.append(row)
        self.by_id[row["message_id"]] = row
        return {"type": "message_new", "message": row}

    def react(self, target, at):
        users = {}
        for row, key, sender in self.reactions.values():
            if row is target:
                users[key] = [*users.get(key, []), sender]
        target |= {"reactions": users, "version": target["version"] + 1}
        self.changed[target["message_id"]] = at
        return {"type": "message_reacted", "message_id": target["message_id"],
                "reactions": users, "version": target["version"]}

    def redact(self, gone, at):
        if gone in self.reactions:
            return self.react(self.reactions.pop(gone)[0], at)
        self.gone.append((at, gone))
        if self.by_id.get(gone) not in self.rows:
            return None
        self.rows.remove(self.by_id[gone])
        return {"type": "message_deleted", "message_ids": [gone]}


class Adapter:
    def __init__(self, base, token, user):
        self.base, self.token, self.user = base, token, user
        self.rooms, self.queue, self.since, self.run = {}, [], None, uuid.uuid4().hex

    def close(self):
        self.queue.clear()

    def http(self, method, path, body=None, timeout=30):
        request = urllib.request.Request(
            f"{self.base}/_matrix/client/v3{path}", json.dumps(body).encode() if body else None,
            {"Authorization": f"Bearer {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    # What comes unasked

    def receive(self, timeout_s):
        if not self.queue and self.since is not None:
            self.sync(min(timeout_s, 20))
        return self.queue.pop(0) if self.queue else None

    def sync(self, wait_s):
        """Takes what is new in the rooms that are mirrored; each has gone on from its mirror."""
        query = {"timeout": int(wait_s * 1000), **({"since": self.since} if self.since else {}),
                 "filter": json.dumps({"room": {"timeline": {"limit": 500}}})}
        new = self.http("GET", f"/sync?{urlencode(query)}", timeout=wait_s + 30)
        self.since = new["next_batch"]
        for name, part in new.get("rooms", {}).get("join", {}).items():
            if part["timeline"].get("limited"):
                self.rooms.pop(name, None)  # It does not go on: the mirror begins anew when asked.
            for event in part["timeline"]["events"] if name in self.rooms else []:
                push = self.rooms[name].take(event)
                if push is not None:
                    self.put({**push, "conversation_id": name})

    def put(self, frame):
        self.queue.append(json.dumps(frame).encode())

    def room(self, name):
        """The mirror of a room: all of its log, and from then on what comes."""
        self.sync(0)
        if name not in self.rooms:
            chunk, token, path = [], None, f"/rooms/{quote(name)}/messages?dir=b&limit=500"
            while True:
                page = self.http("GET", path + (f"&from={quote(token)}" if token else ""))
                chunk, token = chunk + page["chunk"], page.get("end")
                if not token:
                    break
            room = Room()
            for event in reversed(chunk):
                if "redacted_because" not in event.get("unsigned", {}):
                    room.take(event)
            self.rooms[name] = room
        return self.rooms[name]

    def event(self, name, kind, key, content):
        """Puts an entry; the server knows the key again. Gives its row, where it has one."""
        path = f"/rooms/{quote(name)}/send/{kind}/{quote(key)}"
        made = self.http("PUT", path, content)["event_id"]
        while KEY in content and made not in self.room(name).by_id:
            self.sync(20)
        return self.room(name).by_id.get(made)

    # What is asked

    def send(self, frame):
        want = json.loads(frame)
        answer = {"type": want["type"], "request_id": want["request_id"], "status": "ok"}
        try:
            answer["data"] = self.do(want["type"], want, want.get("conversation_id", ""))
        except urllib.error.HTTPError as error:
            code = CODES.get(error.code, "unavailable")
            more = json.load(error).get("retry_after_ms") if code == "rate_limited" else None
            answer |= {"status": "error", "error": {"code": code, "retry_after_ms": more}}
        except (OSError, KeyError) as error:
            code = "unavailable" if isinstance(error, OSError) else "unsupported"
            answer |= {"status": "error", "error": {"code": code}}
        self.put(answer)

    def do(self, verb, want, name):
        there, target = f"/rooms/{quote(name)}", want.get("message_id")
        once = f"{self.run}-{want['request_id']}"
        if verb == "get_messages" and not {"before_ts", "around_id", "around_ts"} & set(want):
            rows, since = self.room(name).rows, want.get("after_ts", "")
            found = [row for row in rows if row["created_at"] > since]
            end = max(0, len(found) - want["offset"])
            return {"messages": found[max(0, end - want["limit"]):end], "total_count": len(rows)}
        if verb == "get_deleted_since":
            room = self.room(name)
            return {"message_ids": [i for at, i in room.gone if at >= ms(want["since"])]}
        if verb == "get_changed_since":
            room, since = self.room(name), ms(want["since"])
            rows = [row for row in room.rows if room.changed.get(row["message_id"], -1) >= since]
            return {"messages": rows, "next_since": stamp(max([since, *room.changed.values()]))}
        if verb == "send_message":
            return {"message": self.event(name, "m.room.message", want["client_id"], {
                "msgtype": "m.text", "body": want["payload"], KEY: want["client_id"]})}
        if verb == "edit_message":
            new = {"msgtype": "m.text", "body": want["payload"]}
            self.event(name, "m.room.message", once, {
                **new, "m.new_content": new,
                "m.relates_to": {"rel_type": "m.replace", "event_id": target}})
        elif verb == "react_message":
            mine = (self.room(name).by_id[target], want["reaction"], self.user)
            if mine not in self.room(name).reactions.values():
                self.event(name, "m.reaction", once, {"m.relates_to": {
                    "rel_type": "m.annotation", "event_id": target, "key": want["reaction"]}})
        elif verb == "delete_message":
            self.http("PUT", f"{there}/redact/{quote(target)}/{once}", {"reason": "deleted"})
        elif verb == "mark_read":
            for last in want["message_ids"][-1:]:
                self.http("POST", f"{there}/receipt/m.read/{quote(last)}", {"thread_id": "main"})
        elif verb == "subscribe":
            self.room(name)
        else:
            raise KeyError(verb)
        return {}

"""What adapters to logs share: the mirror of a conversation, and how requests are answered.

A log is entries in order of arrival, where edits, deletions and reactions are entries of their own,
and the order is not that of stamps. An adapter that declares times all the same hands each entry of
a conversation to a mirror, from the first one on, and answers from it with the rows, offsets,
counts and times that the protocol asks for. Each change gives the push that tells of it.
"""
import json
from datetime import datetime, timedelta, timezone

EPOCH, TICK = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)
PLACES = {"before_ts", "around_id", "around_ts"}


def stamp(us):
    return (EPOCH + us * TICK).isoformat(timespec="microseconds").replace("+00:00", "Z")


def micros(text):
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (when.replace(tzinfo=when.tzinfo or timezone.utc) - EPOCH) // TICK


def text(payload):
    """What a payload says, for servers that carry texts alone."""
    return payload if isinstance(payload, str) else str(payload["text"])


class Unsupported(Exception):
    """A verb that the other server has nothing for."""


class Mirror:
    def __init__(self):
        # The rows that are there, ids that went and when, and when rows changed.
        self.rows, self.by_id, self.gone, self.changed, self.at = [], {}, [], {}, 0

    def begin(self, us):
        """An entry of that time is next. Stamps go back, and many are the same: here each entry is
        a microsecond later than the one before at least, by whatever process it is read."""
        self.at = max(us, self.at + 1)

    def message(self, key, who, payload, client_id):
        row = {"message_id": key, "sender_id": who, "created_at": stamp(self.at), "version": 1,
               "payload": payload, "client_id": client_id, "reactions": {}, "read_by": []}
        self.rows.append(row)
        self.by_id[key] = row
        return {"type": "message_new", "message": row}

    def _change(self, row, **news):
        row.update(news, version=row["version"] + 1)
        self.changed[row["message_id"]] = self.at

    def edit(self, row, payload):
        self._change(row, payload=payload, edited_at=stamp(self.at))
        return {"type": "message_edited", "message": row}

    def react(self, row, who, keys):
        """The reactions of a user are these and no others."""
        users = {key: [user for user in there if user != who]
                 for key, there in row["reactions"].items()}
        for key in keys:
            users[key] = [*users.get(key, []), who]
        self._change(row, reactions={key: there for key, there in users.items() if there})
        return {"type": "message_reacted", "message_id": row["message_id"],
                "reactions": row["reactions"], "version": row["version"]}

    def delete(self, key):
        self.gone.append((self.at, key))
        row = self.by_id.pop(key, None)
        self.rows = [known for known in self.rows if known is not row]
        return row and {"type": "message_deleted", "message_ids": [key]}

    def seen(self, row, who):
        """A user has read a message, and with it all before."""
        news, at = [], self.rows.index(row)
        while at >= 0 and who not in self.rows[at]["read_by"]:
            self.rows[at]["read_by"].append(who)
            self.changed[self.rows[at]["message_id"]] = self.at
            news.append(self.rows[at]["message_id"])
            at -= 1
        return news and {"type": "messages_read", "user_id": who, "message_ids": news[:10_000]}

    def listed(self, user):
        """What a list of conversations says of this one."""
        count = sum(row["sender_id"] != user and user not in row["read_by"] for row in self.rows)
        last = {"last_message": self.rows[-1]} if self.rows else {}
        return {"unread_count": count, **last}

    def last_of(self, keys):
        """The last of these messages, as a list of one or none."""
        return [key for key in self.by_id if key in set(keys)][-1:]

    def answer(self, verb, want):
        """The data of an answer to a verb that reads, or None."""
        if verb == "get_messages" and not PLACES & set(want):
            since = micros(want.get("after_ts", stamp(0)))
            found = [row for row in self.rows if micros(row["created_at"]) > since]
            end = max(0, len(found) - want["offset"])
            return {"messages": found[max(0, end - want["limit"]):end],
                    "total_count": len(self.rows)}
        if verb == "get_deleted_since":
            since = micros(want["since"])
            return {"message_ids": [key for at, key in self.gone if at >= since],
                    "next_since": stamp(self.at)}
        if verb == "get_changed_since":
            since = micros(want["since"])
            return {"messages": [row for row in self.rows
                                 if self.changed.get(row["message_id"], -1) >= since],
                    "next_since": stamp(self.at)}
        return None


class Carrier:
    """Answers each request once, with its own id, whatever happens. An adapter says what to ``do``,
    how an ``error`` is told, and ``listen``s for what comes unasked, which it ``put``s. ``rooms``
    are those that are mirrored."""

    def __init__(self):
        self.queue, self.rooms = [], {}

    def listed(self, want, titles):
        """The page of a list of conversations; what is in one is known where it is mirrored."""
        start, end = want.get("offset", 0), want.get("offset", 0) + want.get("limit", 1_000)
        return {"total_count": len(titles), "conversations": [
            {"conversation_id": name, "title": titles[name],
             **(self.rooms[name].listed(self.user) if name in self.rooms else {})}
            for name in sorted(titles)[start:end]]}

    def receive(self, timeout_s):
        if not self.queue:
            self.listen(timeout_s)
        return self.queue.pop(0) if self.queue else None

    def put(self, frame):
        self.queue.append(json.dumps(frame).encode())

    def send(self, frame):
        want = json.loads(frame)
        answer = {"type": want["type"], "request_id": want["request_id"], "status": "ok"}
        try:
            answer["data"] = self.do(want["type"], want, want.get("conversation_id", ""))
        except Exception as error:
            answer |= {"status": "error", "error": {"code": "unsupported"} if isinstance(
                error, Unsupported) else self.error(error)}
        self.put(answer)

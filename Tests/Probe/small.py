"""A small adapter in this process, right unless a fault is planted in it, in virtual time."""

import json

from tideline.probe import Closed

#: The beginning of March.
START_S = 1_772_323_200


class World:
    """A server and its clock. Messages stand in the order of their coming."""

    def __init__(self, fault=""):
        self.fault = fault
        self.now_s = float(START_S)
        self.links = []
        self.messages = []
        self.deletions = []
        self.sent = {}
        self.edits = []
        self.count = 0
        self.listed = None
        self.answers = 0

    def clock(self):
        return self.now_s

    def pause(self, seconds):
        self.now_s += seconds

    def dial(self):
        link = SmallLink(self)
        self.links.append(link)
        return link

    def stamp(self, seconds=None):
        seconds = int(self.now_s if seconds is None else seconds)
        days, rest = divmod(seconds - START_S, 86_400)
        assert days == 0
        printed = f"2026-03-01T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        if self.fault == "times without seconds" and seconds % 60 == 0:
            return printed[:-3]
        return printed + ".000" if self.fault == "finer printed than it is" else printed

    def push(self, frame):
        for link in self.links:
            link.queue.append(json.dumps(frame).encode())


class SmallLink:
    """One connection. A fault is a word; each is planted at the one place that names it."""

    def __init__(self, world):
        self.world = world
        self.queue = []
        self.user = "me"
        self.login = "first"
        self.sent = {}
        self.ended = False

    def close(self):
        self.world.links.remove(self)

    def receive(self, timeout_s):
        if self.ended:
            raise Closed("the server has closed")
        return self.queue.pop(0) if self.queue else None

    def has(self, fault):
        return self.world.fault == fault

    def send(self, frame):
        request = json.loads(frame)
        verb = request["type"]
        if verb == "hello":
            self.user, self.login = request["user"], request["login"]
            return
        if self.has("the connection ends at an unknown id") \
                and request.get("around_id", "").endswith("nowhere"):
            self.ended = True
            return
        if self.has("an exception at a verb") and verb == "get_receipts":
            raise KeyError("readers")
        done = getattr(self, verb, None)
        if self.has("mark_read unanswered") and verb == "mark_read":
            return
        if done is None:
            answer = {"status": "error", "error": {"code": "unsupported", "message": ""}}
        else:
            answer = done(request)
        answer = {"type": verb, "request_id": request["request_id"], **answer}
        if self.has("ids not echoed"):
            del answer["request_id"]
        if self.has("another id echoed") and verb == "get_deleted_since":
            answer["request_id"] = "1"
        self.queue.append(json.dumps(answer).encode())
        if self.has("answered twice") and verb == "edit_message":
            self.queue.append(json.dumps(answer).encode())

    # MARK: Reading

    def pages(self):
        rows = list(self.world.messages)
        if self.has("unsorted pages"):
            self.world.answers += 1
            turn = self.world.answers % 7
            rows = [row for n in range(7) for row in rows[(n * 3 + turn) % 7::7]]
        return rows

    def get_messages(self, request):
        if request["conversation_id"] != "c":
            return {"status": "error", "error": {"code": "not_found", "message": ""}}
        rows, world = self.pages(), self.world
        total = len(rows)
        if self.has("deleted messages counted"):
            total += len(world.deletions)
        if self.has("wrong counts"):
            total += 2
        if self.has("places ignored") and {"around_id", "before_ts"} & set(request):
            request = {name: value for name, value in request.items()
                       if not name.startswith(("around", "before"))} | {"offset": 0}
        if "around_id" in request or "around_ts" in request:
            return self.around(request, rows)
        if (after := request.get("after_ts")) is not None:
            rows = [row for row in rows if row["created_at"] > after]
            if self.has("after_ts loses the first"):
                rows = rows[1:]
            if self.has("counts of the selection"):
                total = len(rows)
        if (before := request.get("before_ts")) is not None:
            rows = self.before(rows, before, request.get("before_id"))
        end = len(rows) - request["offset"]
        if self.has("offset off by one") and request["offset"]:
            end -= 1
        end = max(0, end)
        start = max(0, end - request["limit"])
        if self.has("pages larger than asked"):
            start = max(0, start - 2)
        has_more = start > 0 and not self.has("has_more always false")
        page = [dict(row) for row in rows[start:end]]
        if self.has("times differ from the answers") and len(page) > 3:
            for row in page:
                row["created_at"] += ".5" if row["message_id"] == "m05" else ""
        return {"status": "ok", "data": {"messages": page, "total_count": total,
                                         "has_more": has_more, **self.cursors()}}

    def cursors(self):
        """Those that pages name, of a server that knows no times."""
        if not self.has("cursors named"):
            return {}
        return dict.fromkeys(("deleted_since", "changed_since"), "~" + self.world.stamp())

    def since(self, request):
        """The time of a cursor; None where a time was sent to a server that knows none."""
        if not self.world.fault.startswith("cursors"):
            return request["since"]
        return request["since"][1:] if request["since"].startswith("~") else None

    def before(self, rows, time, message):
        if self.has("inclusive for exclusive"):
            return [row for row in rows if row["created_at"] <= time]
        place = next((n for n, row in enumerate(rows)
                      if row["message_id"] == message and row["created_at"] == time), None)
        if message is None:
            return [row for row in rows if row["created_at"] < time]
        if self.has("before_id left out"):
            return [row for row in rows if row["created_at"] < time]
        return [row for n, row in enumerate(rows) if row["created_at"] < time
                or row["created_at"] == time and (place is None or n < place)]

    def around(self, request, rows):
        here = next((n for n, row in enumerate(rows)
                     if row["message_id"] == request.get("around_id")
                     or row["created_at"] >= request.get("around_ts", "~")), None)
        if here is None and not self.has("around the newest where unknown"):
            return {"status": "error", "error": {"code": "not_found", "message": ""}}
        here = len(rows) if here is None else here
        if self.has("around without its message"):
            here += request["limit"]
        start = max(0, here - request["limit"] // 2)
        end = min(len(rows), start + request["limit"])
        return {"status": "ok", "data": {
            "messages": rows[start:end], "has_more_before": start > 0,
            "has_more_after": end < len(rows)}}

    def get_deleted_since(self, request):
        name = "of" if self.has("deletions by the message's time") else "at"
        if (since := self.since(request)) is None:
            return {"status": "error", "error": {"code": "unknown_cursor", "message": ""}}
        told = [entry["id"] for entry in self.world.deletions if entry[name] >= since]
        if self.has("deletions not told"):
            told = []
        return {"status": "ok", "data": {"message_ids": told}}

    def get_changed_since(self, request):
        since, exclusive = self.since(request), self.has("exclusive for inclusive")
        if since is None:
            return {"status": "error", "error": {"code": "unknown_cursor", "message": ""}}
        rows = [row for row in self.world.messages if "edited_at" in row
                and (row["edited_at"] > since or row["edited_at"] == since and not exclusive)]
        return {"status": "ok", "data": {"messages": rows, "next_since": self.world.stamp()}}

    # MARK: Writing

    def send_message(self, request):
        world = self.world
        sent = self.known()
        known = sent.get(request["client_id"])
        if self.has("sends looked up first"):
            known = next((row for row in world.messages
                          if row["client_id"] == request["client_id"]), None)
        if known is not None and not self.has("sends repeated"):
            if self.has("sends repeated and answered once"):
                world.messages.append({**known, "message_id": known["message_id"] + "again",
                                       "created_at": world.stamp()})
            if self.has("deleted sends repeated") and known not in world.messages:
                world.messages.append(known)
            return {"status": "ok", "data": {"message": known}}
        world.count += 1
        message = {"message_id": f"m{world.count:02}", "conversation_id": "c",
                   "sender_id": self.user,
                   "created_at": world.stamp(), "payload": request["payload"],
                   "client_id": request["client_id"]}
        if self.has("back-dated") and world.count % 5 == 0:
            message["created_at"] = world.stamp(START_S + (world.now_s - START_S) / 2)
        sent[request["client_id"]] = message
        if not (self.has("lost messages") and world.count % 9 == 5):
            world.messages.append(message)
        elif self.has("lost messages"):
            world.messages += [message] if world.count < 8 else []
        world.push({"type": "message_new", "conversation_id": "c", "message": message})
        if self.has("client ids of its own"):
            message = {**message, "client_id": "other"}
        if self.has("sends answered without a message"):
            return {"status": "ok", "data": {}}
        return {"status": "ok", "data": {"message": message}}

    def known(self):
        """What is known of sends, by whom the fault says."""
        world = self.world
        if self.has("sends known on a connection"):
            return self.sent
        if self.has("sends known by a login"):
            return world.sent.setdefault(self.login, {})
        if self.has("sends known for two minutes"):
            world.sent = {name: message for name, message in world.sent.items()
                          if message["created_at"] >= world.stamp(max(START_S, world.now_s - 120))}
        return world.sent

    def get_conversations(self, request):
        world = self.world
        if world.listed is None or world.now_s > world.listed[0] + 120 \
                or not self.has("lists from a cache"):
            world.listed = world.now_s, world.messages[-1] if world.messages else None
        row = {"conversation_id": "c", "last_message": world.listed[1]}
        return {"status": "ok", "data": {"conversations": [row], "total_count": 1}}

    def edit_message(self, request):
        row = self.row(request)
        if row["sender_id"] != self.user and not self.has("edits by others"):
            return {"status": "error", "error": {"code": "forbidden", "message": ""}}
        if not self.has("edits not shown"):
            row |= {"payload": request["payload"], "version": row.get("version", 1) + 1,
                    "edited_at": self.world.stamp()}
        if self.has("edits in another name"):
            row["sender_id"] = "editor"
        return {"status": "ok", "data": {}}

    def delete_message(self, request):
        row, world = self.row(request), self.world
        if row is None:
            return {"status": "error", "error": {"code": "not_found", "message": ""}}
        if not self.has("deleted rows in pages"):
            world.messages.remove(row)
        world.deletions.append({"id": row["message_id"], "of": row["created_at"],
                                "at": world.stamp()})
        return {"status": "ok", "data": {}}

    def row(self, request):
        return next((row for row in self.world.messages
                     if row["message_id"] == request["message_id"]), None)

    def react_message(self, request):
        row = self.row(request)
        users = row.setdefault("reactions", {}).setdefault(request["reaction"], [])
        if "me" not in users or self.has("reactions doubled"):
            users.append("me")
        return {"status": "ok", "data": {"message": row}}

    def unreact_message(self, request):
        row = self.row(request)
        row["reactions"] = {}
        return {"status": "ok", "data": {"message": row}}

    def mark_read(self, request):
        return {"status": "ok", "data": {}}

    def subscribe(self, request):
        return {"status": "ok", "data": {}}

"""The invented server of logs that the example of docs/guide/log-adapter.md is an adapter to."""

import http.server
import json
import threading
import time
import urllib.parse


class Pier:
    """Rooms in memory, each a log. A number is given once in a history; what is deleted leaves the
    log, and an entry tells of it. Its clock runs ahead of this one's by what `pause` has passed."""

    def __init__(self, memory_s=None):
        self.ahead = 0.0
        self.memory_s = memory_s
        self.history = "h1"
        self.rooms = {"quay": []}
        self.counts = {"quay": 0}
        self.removed = set()
        self.keys = {}
        self.news = []
        self.bell = threading.Condition()
        self.server = self.thread = None
        self.base = "http://nowhere"

    def serve(self):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                status, value = owner.handle(self.command, self.path, self.headers["User"],
                                             json.loads(self.rfile.read(size) or b"null"))
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def clock(self):
        return time.time() + self.ahead

    def pause(self, seconds):
        self.ahead += seconds

    def handle(self, method, path, user, body):
        url = urllib.parse.urlparse(path)
        parts = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        if parts == ["news"]:
            return 200, self.told(query)
        if len(parts) != 3 or parts[1] not in self.rooms:
            return 404, {"error": "no such room"}
        with self.bell:
            if method == "GET":
                return self.page(parts[1], query)
            return self.post(parts[1], user, body["kind"], body["body"], body["to"], body["key"])

    # MARK: Reading

    def told(self, query):
        """What has come since, of each room, once there is something."""
        with self.bell:
            after = int(query.get("after", len(self.news)))
            self.bell.wait_for(lambda: len(self.news) > after, float(query["wait"]))
            rooms = {}
            for room, item in self.news[after:]:
                rooms.setdefault(room, []).append(item)
            return {"next": len(self.news),
                    "rooms": {room: self.cut(room, items, items[0]["n"] - 1, items[-1]["n"])
                              for room, items in rooms.items()}}

    def cut(self, room, items, low, high):
        """A page that lies behind the number `low`, up to `high`."""
        log = self.rooms[room]
        return {"items": items, "history": self.history,
                "before": f"{self.history}:{low}", "after": f"{self.history}:{high}",
                "is_oldest": not log or log[0]["n"] > low,
                "is_newest": not log or log[-1]["n"] <= high}

    def page(self, room, query):
        log, limit = self.rooms[room], int(query["limit"])
        if "around_id" in query:
            here = next((at for at, item in enumerate(log) if item["id"] == query["around_id"]),
                        None)
            if here is None:
                return 404, {"error": "no such entry"}
            start = max(0, here - limit // 2)
            rows = log[start:start + limit]
            return 200, self.cut(room, rows, rows[0]["n"] - 1, rows[-1]["n"])
        token = query.get("before") or query.get("after")
        history, _, number = (token or f"{self.history}:{self.counts[room]}").partition(":")
        if history != self.history or not number.isdecimal() or int(number) > self.counts[room]:
            return 410, {"error": "another history"}
        at = int(number)
        if "after" in query:
            rows = [item for item in log if item["n"] > at][:limit]
            return 200, self.cut(room, rows, at, rows[-1]["n"] if rows else at)
        rows = [item for item in log if item["n"] <= at][-limit:]
        return 200, self.cut(room, rows, rows[0]["n"] - 1 if rows else at, at)

    # MARK: Writing

    def post(self, room, user, kind, body="{}", to=(), key=None):
        log, now = self.rooms[room], self.clock()
        known = self.keys.get((user, key))
        if known and (self.memory_s is None or now - known[1] <= self.memory_s):
            return 200, known[0]
        covers = [item["id"] for item in log if item["id"] in to and item["by"] != user]
        target = next((item for item in reversed(log) if item["id"] in to), None)
        if kind != "text":
            if target is None and self.removed.intersection(to) and kind == "delete":
                return 200, {"id": None}
            if target is None or target["kind"] != "text":
                return 404, {"error": "no such message"}
            if kind in ("edit", "delete") and target["by"] != user:
                return 403, {"error": "the message of another"}
        self.counts[room] += 1
        number = self.counts[room]
        item = {"n": number, "id": f"{room}-{self.history}-{number}", "kind": kind, "by": user,
                "at": int(now * 1000), "body": body, "to": target and target["id"],
                "covers": covers}
        log.append(item)
        if kind == "delete":
            log.remove(target)
            self.removed.add(target["id"])
        if key is not None:
            self.keys[user, key] = item, now
        self.news.append((room, item))
        self.bell.notify_all()
        return 200, item

"""The invented REST server that the example of docs/guide/adapter.md is an adapter to."""

import datetime
import http.server
import json
import threading
import time
import urllib.parse


def time_ms(text):
    when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(when.timestamp() * 1000)


class Harbour:
    """Rooms in memory. Its clock runs ahead of this one's by what `pause` has passed."""

    def __init__(self):
        self.ahead = 0.0
        self.count = 0
        self.rooms = {"quay": []}
        self.deleted = {"quay": []}
        self.keys = {}
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                url = urllib.parse.urlparse(self.path)
                parts = url.path.strip("/").split("/")
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"null")
                query = {name: time_ms(values[0]) if name == "since" else int(values[0])
                         for name, values in urllib.parse.parse_qs(url.query).items()}
                status, value = owner.handle(self.command, parts, query, body)
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = answer

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

    def ms(self):
        return int(self.clock() * 1000)

    def handle(self, method, parts, query, body):
        if len(parts) < 3 or parts[0] != "rooms" or parts[1] not in self.rooms:
            return 404, {"error": "no such room"}
        room, rest = parts[1], parts[2:]
        rows = self.rooms[room]
        if method == "GET" and rest == ["messages"]:
            chosen = [row for row in rows if row["at"] > query.get("since", -1)]
            end = max(0, len(chosen) - query["skip"])
            return 200, {"items": chosen[max(0, end - query["limit"]):end], "total": len(rows)}
        if method == "GET" and rest == ["deleted"]:
            return 200, [entry["id"] for entry in self.deleted[room]
                         if entry["at"] >= query["since"]]
        if method == "POST" and rest == ["messages"]:
            return 200, self.post(room, body["text"], body["key"])
        if method == "POST" and rest == ["read"]:
            return 200, {}
        row = next((row for row in rows if row["id"] == rest[-1]), None)
        if row is None:
            return 404, {"error": "no such message"}
        if method == "PUT":
            row |= {"text": body["text"], "edited": self.ms()}
            return 200, row
        rows.remove(row)
        self.deleted[room].append({"id": row["id"], "at": self.ms()})
        return 200, {}

    def post(self, room, text, key=None, author="me"):
        if key is not None and key in self.keys:
            return self.keys[key]
        self.count += 1
        # Two messages may have one millisecond; they stand as they came.
        row = {"id": f"h{self.count}", "room": room, "author": author, "at": self.ms(),
               "text": text, "key": key, "edited": None}
        self.rooms[room].append(row)
        if key is not None:
            self.keys[key] = row
        return row

#!/bin/sh
# zulip 0.9.1 (PyPI), with a stand-in of a server that answers as Zulip's API pages say.
#
# Guess: when the server has dropped the queue of events (BAD_EVENT_QUEUE_ID, after ten minutes
# without a request), `call_on_each_event` raises, or hands the program an event that says so.
# Guess: `send_message` whose answer is lost returns an error, and the caller decides.
# Seen: it registers another queue and goes on with what comes next. What was sent in between is
# never handed out, and nothing reports the gap: a program has to look at the ids, or to register
# and to ask for events by itself. A lost answer makes it send the message again: two messages, and
# one result.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install zulip==0.9.1 2>pip.log
cat >try.py <<'PY'
import http.server
import json
import threading
import urllib.parse

import zulip

messages, queues = [], []


class Server(http.server.BaseHTTPRequestHandler):
    """Messages, and queues of events, of which the first ends behind message 1."""

    def log_message(self, *rest):
        pass

    def answer(self, status=200, **members):
        text = json.dumps({"result": "success" if status == 200 else "error", "msg": "", **members})
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.endswith("/register"):
            queues.append(len(messages))
            self.answer(queue_id=str(len(queues)), last_event_id=-1)
        else:
            messages.append(urllib.parse.parse_qs(body)["content"][0])
            if messages != ["hello"]: # The answer of the first one is lost.
                self.answer(id=len(messages))

    def do_GET(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        if asked.get("queue_id") == ["1"] and asked["last_event_id"] != ["-1"]:
            messages.extend(["while it was away", "another"])
            self.answer(400, code="BAD_EVENT_QUEUE_ID", queue_id="1")
        elif "queue_id" in asked:
            messages.append("later")
            self.answer(events=[{"id": 0, "type": "message", "message": {
                "id": len(messages), "content": messages[-1]}, "flags": []}])
        else:
            self.answer(zulip_version="9.0")


class Enough(BaseException):
    pass


def heard(event):
    seen.append(event)
    if len(seen) == 2:
        raise Enough


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = zulip.Client(email="eva@example.org", api_key="none",
                      site=f"http://127.0.0.1:{server.server_port}")
answer = client.send_message({"type": "stream", "to": "room", "topic": "t", "content": "hello"})
print("sent:", answer["result"], answer["id"], "- stored", *messages)
messages, seen = [], []
try:
    client.call_on_each_event(heard, ["message"])
except Enough:
    pass
print(len(queues), "queues, stored", len(messages), "- handed out",
      *(f"{each['type']} {each['message']['id']}" for each in seen))
PY
timeout 60 venv/bin/python try.py 2>try.log | tee seen
grep -qx 'sent: success 2 - stored hello hello' seen
grep -qx '2 queues, stored 4 - handed out message 1 message 4' seen

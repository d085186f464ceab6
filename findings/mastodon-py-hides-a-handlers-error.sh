#!/bin/sh
# Mastodon.py 2.3.3 (PyPI), with a stand-in of a server's streaming API.
#
# Guess: what a handler raises in the thread of `run_async=True` ends that thread, and is seen.
# Guess: a stream that the server ends is an error, which calls `on_abort`.
# Guess: an edit is given to `on_status_update` as a new status is to `on_update`, with datetimes.
# Seen: with `reconnect_async=True` an AttributeError of a handler, as of a field that is missing or
# None, is taken for a lost connection: nothing is raised or logged, `on_abort` is not called, and
# the event is gone, with all that the server had sent behind it. Another error ends the thread, and
# with it all reconnecting.
# Seen: the end of a stream is silent, too: `stream_user` returns, or the thread connects again, and
# no handler is called. What was sent in between is lost, and nothing marks where.
# Seen: the times of an edit are texts, which raise when they are compared with those of a status.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install Mastodon.py==2.3.3 2>pip.log
cat >try.py <<'PY'
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mastodon import Mastodon, StreamListener

SCRIPTS, IS_OVER = [], threading.Event()  # The events of each connection.


def status(number, text, edited=None):
    return json.dumps({
        "id": str(number), "created_at": "2026-03-01T12:00:00.000Z", "edited_at": edited,
        "content": text, "account": {"id": "7", "acct": "jan"}, "visibility": "direct"})


class Server(BaseHTTPRequestHandler):
    def log_message(self, *rest):
        pass

    def do_GET(self):
        self.send_response(200)
        if "/streaming/" in self.path:
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            events = SCRIPTS.pop(0) if SCRIPTS else None
            for kind, data in events or []:
                self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
            self.wfile.flush()
            if events is None:
                IS_OVER.wait(60)
        else:
            self.end_headers()
            self.wfile.write(json.dumps({
                "uri": "x", "version": "4.3.0", "urls": {"streaming_api": BASE},
                "configuration": {"urls": {"streaming": BASE}}}).encode())


class Listener(StreamListener):
    def __init__(self, error=None):
        self.error, self.seen, self.items = error, [], []

    def on_update(self, status):
        self.seen.append(status["content"])
        self.items.append(status)
        if status["content"] == "m2" and self.error:
            raise self.error

    def on_status_update(self, status):
        self.items.append(status)

    def on_abort(self, error):
        self.seen.append("abort")


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
threading.excepthook = lambda each: raised.append(each.exc_type.__name__)
BASE = f"http://127.0.0.1:{server.server_port}"
client = Mastodon(access_token="x", api_base_url=BASE, version_check_mode="none")

SCRIPTS.append([("update", status(99, "m1")), ("update", status(100, "m2")),
                ("status.update", status(100, "m2 edited", "2026-03-01T12:01:00.000Z"))])
listener = Listener()
client.stream_user(listener)
print("the server ended the stream: returned, after", *listener.seen)
print("times: new", *(type(each.created_at).__name__ for each in listener.items[:2]), "edit",
      *(type(listener.items[2][name]).__name__ for name in ("created_at", "edited_at")))

TEXTS = [("update", status(number, f"m{number}")) for number in range(1, 5)]
for error in None, AttributeError("of a handler"), KeyError("of a handler"):
    SCRIPTS[:], raised = [TEXTS, [("update", status(9, "m9"))]], []
    listener = Listener(error)
    handle = client.stream_user(listener, run_async=True, reconnect_async=True)
    for _ in range(100):
        if "m9" in listener.seen or raised:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    print(f"m2 raises {type(error).__name__ if error else 'nothing'}: {' '.join(listener.seen)};",
          f"raised: {' '.join(raised) or 'nothing'}; thread alive: {handle.is_alive()}")
    handle.closed = True
IS_OVER.set()
PY
timeout 100 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
the server ended the stream: returned, after m1 m2
times: new datetime datetime edit str str
m2 raises nothing: m1 m2 m3 m4 m9; raised: nothing; thread alive: True
m2 raises AttributeError: m1 m2 m9; raised: nothing; thread alive: True
m2 raises KeyError: m1 m2; raised: KeyError; thread alive: False
EOF
cmp seen expected

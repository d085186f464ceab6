#!/bin/sh
# httpx-sse 0.4.3 (PyPI), with a server of this script.
#
# Guess: a comment line (`: keep-alive`), which servers send so that proxies keep the connection, is
# no event; nor is an empty line without a field before it (HTML, "Server-sent events").
# Seen: that is so until the first event with an `id`. From then on each comment with its empty line
# is handed out as an event `message`, with empty data and the id of the last one. A client that
# reads JSON raises at the first pause; one that counts a known id as a repetition sees one each
# time. A retried delivery and a pause look alike, so skip events whose data is empty.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install httpx-sse==0.4.3 httpx==0.28.1 2>pip.log
cat >try.py <<'PY'
import http.server
import threading

import httpx
import httpx_sse

STREAMS = {
    "/with-ids": ': pause\n\nid: 7\ndata: {"text": "one"}\n\n: pause\n\n: pause\n\n'
                 'id: 8\ndata: {"text": "two"}\n\n',
    "/without": ': pause\n\ndata: {"text": "one"}\n\n: pause\n\n: pause\n\n'
                'data: {"text": "two"}\n\n',
}


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(STREAMS[self.path].encode())

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
for path in STREAMS:
    with httpx.Client(trust_env=False) as client, httpx_sse.connect_sse(
            client, "GET", f"http://127.0.0.1:{server.server_port}{path}") as source:
        for event in source.iter_sse():
            print(f"{path[1:]}: {event.event} {event.id or '-'} {event.data or 'nothing'}")
server.shutdown()
PY
timeout 30 venv/bin/python try.py | tee seen
cat >expected <<'EOF'
with-ids: message 7 {"text": "one"}
with-ids: message 7 nothing
with-ids: message 7 nothing
with-ids: message 8 {"text": "two"}
without: message - {"text": "one"}
without: message - {"text": "two"}
EOF
cmp seen expected

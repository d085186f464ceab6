#!/bin/sh
# hishel 2.0.0, beside 1.4.0 (PyPI, a cache of HTTP for httpx), with a server of this script.
#
# Guess: the cache follows the server's headers (RFC 9111), as its releases so far did: an answer
# with `no-store` is not kept, one with `no-cache` is asked for again, and who sends a message to a
# path gets the new list from there.
# Guess: `Range` asks for the rest of an attachment, and the answer is that rest.
# Guess: a client with a transport of its own, that tries again say, has its cache as well.
# Seen: without `rfc=True` the new release reads no header of the server. The first answer to a path
# is given for ever, whatever the server said, also after a message was sent there, and after a
# restart: the storage is a file. A list of messages stays what it was, with status 200.
# Seen: a `Range` is then answered with the whole, 200, so who appends has the beginning twice.
# Seen: a POST drops the list of its path with `rfc=True` only; 1.4.0 keeps it for its time.
# Seen: with `transport=` there is no cache, in all three; nothing reports it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install 'hishel[httpx]==2.0.0' httpx==0.28.1 msgpack==1.2.4 2>pip.log
venv/bin/pip -q install --no-deps --target older hishel==1.4.0 2>>pip.log
mkdir newer
cat >try.py <<'PY'
import http.server
import sys
import threading

import hishel.httpx
import httpx

WHOLE = b"0123456789"
messages = 0


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, header):
        self.send_response(status)
        self.send_header("Cache-Control", header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/file" and "Range" in self.headers:
            self.answer(206, WHOLE[6:], "max-age=60")
        elif self.path == "/file":
            self.answer(200, WHOLE, "max-age=60")
        else:
            self.answer(200, f"{messages} messages".encode(), self.path[1:])

    def do_POST(self):
        global messages
        messages += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201, b"", "no-store")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
label, options = sys.argv[1], {"rfc": True} if sys.argv[2:] else {}


def client(**more):
    kind = getattr(hishel.httpx, "CacheClient", None) or hishel.httpx.SyncCacheClient
    return kind(base_url=base, **options, **more)


with client() as cached:
    for path in "/no-store", "/no-cache", "/max-age=60":
        texts = [cached.get(path).text]
        cached.post(path, content=b"hello")
        texts.append(cached.get(path).text)
        print(f"{label}, {path[1:]}, before and after a message: {texts[0]}, {texts[1]}", flush=True)
    cached.get("/file")
    rest = cached.get("/file", headers={"Range": "bytes=6-"})
    print(f"{label}, the rest of a file: {rest.status_code} {rest.text}")
with client(transport=httpx.HTTPTransport(retries=2)) as plain:
    texts = [plain.get("/max-age=3600").text]
    messages += 1
    texts.append(plain.get("/max-age=3600").text)
    print(f"{label}, a transport of its own, 1 hour fresh: {texts[0]}, {texts[1]}")
PY
run() {
    release=$1
    shift
    mkdir "in$#-$release"
    (cd "in$#-$release" && PYTHONPATH=../$release timeout 60 ../venv/bin/python ../try.py "$@") |
        tee -a seen
}
run older '1.4.0'
run newer '2.0.0'
run newer '2.0.0 with rfc' rfc
for label in '1.4.0' '2.0.0 with rfc'; do
    grep -qx "$label, no-store, before and after a message: 0 messages, 1 messages" seen
    grep -qx "$label, no-cache, before and after a message: 1 messages, 2 messages" seen
    grep -qx "$label, the rest of a file: 206 6789" seen
done
grep -qx '1.4.0, max-age=60, before and after a message: 2 messages, 2 messages' seen
grep -qx '2.0.0 with rfc, max-age=60, before and after a message: 2 messages, 3 messages' seen
grep -qx '2.0.0, no-store, before and after a message: 0 messages, 0 messages' seen
grep -qx '2.0.0, no-cache, before and after a message: 1 messages, 1 messages' seen
grep -qx '2.0.0, max-age=60, before and after a message: 2 messages, 2 messages' seen
grep -qx '2.0.0, the rest of a file: 200 0123456789' seen
for label in '1.4.0' '2.0.0' '2.0.0 with rfc'; do
    grep -qx "$label, a transport of its own, 1 hour fresh: 3 messages, 4 messages" seen
done

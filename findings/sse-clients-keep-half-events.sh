#!/bin/sh
# sseclient 0.0.27, sseclient-py 1.9.0, aiohttp-sse-client2 0.3.0, requests-sse 0.5.3 (PyPI), with a
# server of this script. jmapc 0.4.0 receives its pushes with sseclient.
#
# Guess: an event counts once its empty line came (HTML, "Server-sent events"). A connection that
# ends within one drops the half, and after the reconnect it comes again, whole, once.
# Guess: where an event is cut into chunks of HTTP is no matter to the client.
# Seen: only requests-sse does so. sseclient-py hands out the half event at the end of the stream,
# with its id, so who goes on after that id never gets the rest. aiohttp-sse-client2 keeps the lines
# of the half and puts the whole event behind them: data twice. sseclient does either, by whether
# the answer is in chunks. It reads below the chunks: of an event in two it hands out the first.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Two of them have a module of the same name.
python3 -m venv one
one/bin/pip -q install sseclient==0.0.27 requests==2.34.2 urllib3==2.8.0 2>pip.log
python3 -m venv two
two/bin/pip -q install sseclient-py==1.9.0 aiohttp-sse-client2==0.3.0 aiohttp==3.14.5 \
  requests-sse==0.5.3 requests==2.34.2 urllib3==2.8.0 2>pip.log
cat >server.py <<'PY'
import socket
import threading
import time

HALF = [b"id: 1\ndata: one\n\n", b"id: 2\ndata: two begins\n"]
SECOND = b"id: 2\ndata: two begins\ndata: and ends\n\n"
THIRD = b"id: 3\ndata: three\n\n"


def serve(first, chunked=True):
    """Answers the first request with these pieces, and the next with what comes after its id."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        for pieces in first, [SECOND, THIRD]:
            link = listener.accept()[0]
            request = b""
            while b"\r\n\r\n" not in request:
                request += link.recv(4096)
            if b"last-event-id: 2\r\n" in request.lower():
                pieces = [THIRD]
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" +
                         (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else
                          b"Connection: close\r\n\r\n"))
            for piece in pieces:
                link.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
                time.sleep(0.1)
            if chunked:
                link.sendall(b"0\r\n\r\n")
            link.close()

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


def show(event):
    key = getattr(event, "last_event_id", None) or getattr(event, "id", None)
    print(f"  {key}: {event.data!r}", flush=True)
    return key == "3"
PY
cat >one.py <<'PY'
import contextlib
import io

import sseclient

from server import HALF, THIRD, serve, show


def read(url):
    events = sseclient.SSEClient(url, retry=10)
    while True:
        with contextlib.redirect_stdout(io.StringIO()):  # It prints its exceptions.
            event = next(events)
        if show(event):
            return


print("sseclient, chunks:")
read(serve(HALF))
print("sseclient, no chunks:")
read(serve(HALF, chunked=False))
print("sseclient, an event in two chunks:")
read(serve([b'id: 1\ndata: {"text": "hel', b'lo"}\n\n', THIRD]))
PY
cat >two.py <<'PY'
import asyncio
import datetime

import aiohttp_sse_client2.client
import requests
import requests_sse
import sseclient

from server import HALF, serve, show

SOON = datetime.timedelta(milliseconds=10)
print("sseclient-py:")
for event in sseclient.SSEClient(requests.get(serve(HALF), stream=True, timeout=20)).events():
    show(event)


async def read():
    async with aiohttp_sse_client2.client.EventSource(
            serve(HALF), reconnection_time=SOON) as source:
        async for event in source:
            if show(event):
                return


print("aiohttp-sse-client2:")
asyncio.run(read())
print("requests-sse:")
with requests_sse.EventSource(serve(HALF), reconnection_time=SOON) as source:
    for event in source:
        if show(event):
            break
PY
export no_proxy=127.0.0.1
{
  timeout 40 one/bin/python -B one.py
  timeout 40 two/bin/python -B two.py
} 2>try.log | tee seen
cat >expected <<'EOF'
sseclient, chunks:
  1: 'one'
  2: 'two begins'
  3: 'three'
sseclient, no chunks:
  1: 'one'
  2: 'two begins\ntwo begins\nand ends'
  3: 'three'
sseclient, an event in two chunks:
  1: '{"text": "hel'
  3: 'three'
sseclient-py:
  1: 'one'
  2: 'two begins'
aiohttp-sse-client2:
  1: 'one'
  2: 'two begins\ntwo begins\nand ends'
  3: 'three'
requests-sse:
  1: 'one'
  2: 'two begins\nand ends'
  3: 'three'
EOF
cmp seen expected

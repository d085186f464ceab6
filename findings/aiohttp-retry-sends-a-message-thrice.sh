#!/bin/sh
# aiohttp-retry 2.9.1 with aiohttp 3.14.5, beside httpx-retries 0.6.0 with httpx 0.28.1 (PyPI), with
# a server of this script.
#
# Guess: an answer 429 or 503 with `Retry-After: 2` is followed by the next try after two seconds.
# Guess: a POST is not repeated unless a program says so: the server may have done it.
# Guess: a connection that was closed without an answer is tried again later.
# Guess: when the tries are used up, it raises.
# Seen: aiohttp-retry hands out the 429 at once. A 503 it tries again after 0.2 s, and does not look
# at `Retry-After`. A POST that is answered with 500 is sent three times, so a server that stored
# the message and failed afterwards has three. It then returns the last 500 as any answer.
# Seen: httpx-retries waits, and repeats no POST. A GET whose connection was closed it tries ten
# times more without a pause, so all tries are over before a server that restarts is back.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install aiohttp-retry==2.9.1 aiohttp==3.14.5 httpx-retries==0.6.0 httpx==0.28.1 \
    2>pip.log
cat >try.py <<'PY'
import asyncio
import time

import aiohttp_retry
import httpx
import httpx_retries
from aiohttp import web

stored = []
began = 0.0
tries = []


async def answer(request):
    tries.append(time.monotonic() - began)
    status = int(request.path[1:])
    if request.method == "POST":
        stored.append(await request.text())
    if status == 500 or len(tries) == 1:
        return web.Response(status=status, headers={"Retry-After": "2"} if status != 500 else {})
    return web.Response(text="hello")


async def by_aiohttp(method, url):
    async with aiohttp_retry.RetryClient() as client:
        async with client.request(method, url, data=b"hello" if method == "POST" else None) as got:
            return got.status


async def by_httpx(method, url):
    async with httpx.AsyncClient(transport=httpx_retries.RetryTransport()) as client:
        got = await client.request(method, url, content=b"hello" * (method == "POST"))
        return got.status_code


async def main():
    global began
    app = web.Application()
    app.router.add_route("*", "/{path}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    base = "http://127.0.0.1:%d" % runner.addresses[0][1]
    for name, ask in ("aiohttp-retry", by_aiohttp), ("httpx-retries", by_httpx):
        for method, status in ("GET", 429), ("GET", 503), ("POST", 500):
            began = time.monotonic()
            tries.clear()
            stored.clear()
            result = await ask(method, f"{base}/{status}")
            waited = len(tries) > 1 and tries[1] - tries[0] >= 1.9
            print(f"{name}, {method} {status}: returned {result}, tries {len(tries)},",
                  f"waited {waited}, stored {len(stored)}", flush=True)
    await runner.cleanup()
    times = []

    async def close(_, writer):
        times.append(time.monotonic())
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        try:
            await by_httpx("GET", "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1])
        except httpx.RemoteProtocolError:
            longest = max(b - a for a, b in zip(times, times[1:]))
            print(f"httpx-retries, closed at once: tries {len(times)},",
                  "a pause of a second:", longest >= 1)


asyncio.run(main())
PY
timeout 90 venv/bin/python try.py | tee seen
grep -qx 'aiohttp-retry, GET 429: returned 429, tries 1, waited False, stored 0' seen
grep -qx 'aiohttp-retry, GET 503: returned 200, tries 2, waited False, stored 0' seen
grep -qx 'aiohttp-retry, POST 500: returned 500, tries 3, waited False, stored 3' seen
grep -qx 'httpx-retries, GET 429: returned 200, tries 2, waited True, stored 0' seen
grep -qx 'httpx-retries, GET 503: returned 200, tries 2, waited True, stored 0' seen
grep -qx 'httpx-retries, POST 500: returned 500, tries 1, waited False, stored 1' seen
grep -qx 'httpx-retries, closed at once: tries 11, a pause of a second: False' seen

#!/bin/sh
# python-socketio 5.18.1, aiohttp 3.14.5 (PyPI).
#
# Guess: one client's events come in the order of their sending, so the `async` handler of an event
# ends before that of the next one begins.
# Guess: `async_handlers=False` is an option of both sides.
# Seen: each event is a task of its own, on the server and on the client. A handler that waits, for
# its database say, is overtaken, and messages are stored, and confirmed, in another order than they
# were sent. The server's option ends that; the client has none, and its handlers need a queue.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install python-socketio==5.18.1 aiohttp==3.14.5 2>pip.log
cat >try.py <<'PY'
import asyncio

import socketio
from aiohttp import web


class Store:
    """Takes four messages; the first waits until a later one is stored, or until it cannot be."""

    def __init__(self):
        self.kept, self.later, self.all_four = [], asyncio.Event(), asyncio.Event()

    async def keep(self, text):
        if text == "m1":
            try:
                await asyncio.wait_for(self.later.wait(), 2)
            except TimeoutError:
                pass
        self.kept.append(text)
        self.later.set()
        if len(self.kept) == 4:
            self.all_four.set()

    async def end(self, name):
        await asyncio.wait_for(self.all_four.wait(), 20)
        print(f"{name}:", *self.kept)


async def case(name, **choice):
    server, app = socketio.AsyncServer(async_mode="aiohttp", **choice), web.Application()
    server.attach(app)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    client, sent, pushed, confirmed = socketio.AsyncClient(), Store(), Store(), Store()

    async def message(session, text):
        await sent.keep(text)
        return text

    async def acknowledged(text):
        confirmed.kept.append(text)
        if len(confirmed.kept) == 4:
            confirmed.all_four.set()

    server.on("message", message)
    client.on("push", pushed.keep)
    await client.connect(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}")
    for number in range(1, 5):
        await client.emit("message", f"m{number}", callback=acknowledged)
        await server.emit("push", f"m{number}")
    await sent.end(f"{name}, on the server")
    await confirmed.end(f"{name}, confirmed")
    await pushed.end(f"{name}, on the client")
    await client.disconnect()
    await runner.cleanup()


async def main():
    await case("by default")
    await case("async_handlers False", async_handlers=False)
    try:
        socketio.AsyncClient(async_handlers=False)
    except TypeError:
        print("a client has no such option")

asyncio.run(main())
PY
timeout 60 venv/bin/python try.py 2>try.log | tee seen
for place in 'on the server' confirmed 'on the client'; do
  grep -q "^by default, $place: m2 " seen
done
grep -qx 'async_handlers False, on the server: m1 m2 m3 m4' seen
grep -qx 'async_handlers False, confirmed: m1 m2 m3 m4' seen
grep -q '^async_handlers False, on the client: m2 ' seen
grep -qx 'a client has no such option' seen

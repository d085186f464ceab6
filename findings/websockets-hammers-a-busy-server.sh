#!/bin/sh
# websockets 17.4 (PyPI), client and server.
#
# Guess: `async for connection in connect(...)`, which its text says retries "with exponential
# backoff", pauses before each further connection, longer each time: a server that accepts and then
# closes with 1013, "try again later", is left in peace. `reconnect_delays` sets the pauses.
# Seen: only a connection that could not be opened is followed by a pause. One that was opened and
# closed at once is followed by the next one at once, hundreds a second, from each client, whatever
# `reconnect_delays` says. A server that refuses after the handshake, as it must to send a reason,
# meets all its clients in a tight loop: sleep in the loop's body when little was received.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install websockets==17.4 2>pip.log
cat >try.py <<'PY'
import asyncio
import itertools
import time

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def count(server, seconds=3):
    """How often a client of the documented form connects."""
    attempts = 0
    begin = time.monotonic()

    async def accepted(connection):
        nonlocal attempts
        attempts += 1
        await connection.close(1013, "try again later")

    def refused(connection, request):
        nonlocal attempts
        attempts += 1
        return connection.respond(503, "try again later")

    async def read(port):
        async for connection in connect(f"ws://127.0.0.1:{port}", proxy=None,
                                        reconnect_delays=lambda: itertools.repeat(0.5)):
            try:
                async for _ in connection:
                    pass
            except ConnectionClosed:
                continue

    refuse = refused if server == "refuses" else None
    async with serve(accepted, "127.0.0.1", 0, process_request=refuse) as made:
        try:
            await asyncio.wait_for(read(made.sockets[0].getsockname()[1]), seconds)
        except TimeoutError:
            pass
    return attempts / (time.monotonic() - begin)


async def main():
    for server in "refuses", "accepts and closes":
        rate = await count(server)
        print(f"the server {server}:", "at most 3" if rate <= 3 else
              "more than 20" if rate > 20 else "some", "connections a second")

asyncio.run(main())
PY
timeout 60 venv/bin/python try.py 2>try.log | tee seen
grep -qx 'the server refuses: at most 3 connections a second' seen
grep -qx 'the server accepts and closes: more than 20 connections a second' seen

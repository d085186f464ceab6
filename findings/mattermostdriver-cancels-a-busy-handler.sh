#!/bin/sh
# mattermostdriver 7.3.2 and mattermostautodriver 11.11.1 (PyPI), with a stand-in of a Mattermost
# server's websocket.
#
# Guess: `timeout`, 30 seconds by default, bounds the silence: after it a ping is sent. Events that
# come in time, and handlers that work, are left alone.
# Guess: what the handler raises ends the call, or costs its own event.
# Guess: without `keepalive`, as by default, a connection that ended is not made again.
# Seen (mattermostdriver): the time runs on while events come. Each time that it is over, the
# handler that is at work is cancelled where it stands, with `CancelledError`, which no `except
# Exception` catches: its event is half done, never comes again, and nothing is logged.
# mattermostautodriver does not cancel.
# Seen (both): what a handler raises counts as a connection that failed. It is closed and made again
# after a pause, with `keepalive` or without, and the posts behind that event and within the pause
# are never handed out: a second "hello" is all there is to see. Read them with the REST API then.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install mattermostdriver==7.3.2 mattermostautodriver==11.11.1 websockets==15.0.1 \
  2>pip.log
cat >try.py <<'PY'
import asyncio
import json

import mattermostautodriver
import mattermostdriver
from mattermostdriver.websocket import Websocket
from websockets.asyncio.server import serve


async def case(name, driver, socket, timeout, works, *texts):
    links, seen = [], []

    async def server(link):
        """Greets each connection, and tells the first one of all posts."""
        links.append(link)
        await link.send(json.dumps({"event": "hello", "seq": 0, "data": {}}))
        for number, text in enumerate(texts if len(links) == 1 else (), 1):
            await link.send(json.dumps(
                {"event": "posted", "seq": number, "data": {"message": text}}))
        async for _ in link:
            pass

    async def handler(raw):
        event = json.loads(raw)
        text = event["data"].get("message", event["event"])
        try:
            if text == "bad":
                raise KeyError(text)
            if text != "hello":
                await asyncio.sleep(works)
            seen.append(text)
        except asyncio.CancelledError:
            seen.append(f"{text}:cancelled")
            raise

    async with serve(server, "127.0.0.1", 0) as listener:
        options = driver({
            "url": "127.0.0.1", "port": listener.sockets[0].getsockname()[1], "scheme": "http",
            "token": "x", "timeout": timeout, "keepalive_delay": 1}).options
        client = socket(options, "x")
        task = asyncio.create_task(client.connect(handler))
        for _ in range(100):
            if texts[-1] in seen or len(links) > 1:
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        print(f"{name}: {' '.join(seen)}; connections: {len(links)}; ended: {task.done()}")
        client.disconnect()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for link in links:
            await link.close()


async def main():
    for name, driver, socket in (
            ("mattermostdriver", mattermostdriver.Driver, Websocket),
            ("mattermostautodriver", mattermostautodriver.TypedDriver,
             mattermostautodriver.Websocket)):
        await case(f"{name}, busy", driver, socket, 2, 0.8, "m1", "m2", "m3", "m4")
        await case(f"{name}, one bad", driver, socket, 30, 0, "m1", "bad", "m3", "m4")

asyncio.run(main())
PY
timeout 100 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
mattermostdriver, busy: hello m1 m2 m3:cancelled m4; connections: 1; ended: False
mattermostdriver, one bad: hello m1 hello; connections: 2; ended: False
mattermostautodriver, busy: hello m1 m2 m3 m4; connections: 1; ended: False
mattermostautodriver, one bad: hello m1 hello; connections: 2; ended: False
EOF
cmp seen expected

#!/bin/sh
# nostr-sdk 0.45.1 (PyPI), with a relay of this script, which has three events.
#
# Guess: `fetch_events` returns when the relay says that all stored events were sent (EOSE, NIP-01).
# Where it does not, since the time is over, the relay is too busy (CLOSED, "rate-limited"), or the
# connection is lost, the call raises, or its answer says so.
# Guess: of two relays, one that cannot be reached is an error, or named in the answer.
# Seen: each of these returns the events that came until then, as a list like any other: two of
# three look as complete as three of three, and an empty list may mean an empty room or a relay that
# is down. A client that takes an event's absence from the list for its deletion, or moves its
# `since` behind the list, loses the rest.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nostr-sdk==0.45.1 websockets==17.4 2>pip.log
cat >try.py <<'PY'
import asyncio
import datetime
import json
import socket

import websockets
from nostr_sdk import (ClientBuilder, EventBuilder, Filter, Keys, Kind, RelayUrl, ReqTarget,
                       Timestamp)

EVA = Keys.generate()
EVENTS = [EventBuilder(Kind(1), f"m{number}").custom_created_at(
    Timestamp.from_secs(1_790_000_000 + number)).finalize(EVA) for number in (3, 2, 1)]
ENDS = {"rate-limited": ["CLOSED", "rate-limited: slow down"], "error": ["CLOSED", "error: busy"]}


def relay(end):
    async def serve(link):
        async for text in link:
            kind, name, *rest = json.loads(text)
            if kind != "REQ":
                continue
            for event in EVENTS[:3 if end == "all" else 2]:
                await link.send(json.dumps(["EVENT", name, json.loads(event.as_json())]))
            if end == "all":
                await link.send(json.dumps(["EOSE", name]))
            elif end in ENDS:
                await link.send(json.dumps([ENDS[end][0], name, ENDS[end][1]]))
            elif end == "lost":
                link.transport.abort()
    return serve


async def fetch(*ports):
    client = ClientBuilder().build()
    for port in ports:
        await client.add_relay(RelayUrl.parse(f"ws://127.0.0.1:{port}"))
    await client.connect(and_wait=datetime.timedelta(seconds=3))
    found = await client.fetch_events(
        ReqTarget.auto([Filter()]), timeout=datetime.timedelta(seconds=4))
    await client.shutdown()
    return " ".join(sorted(event.content() for event in found)) or "nothing"


async def main():
    for end in "all", "silent", "rate-limited", "error", "lost":
        async with websockets.serve(relay(end), "127.0.0.1", 0) as server:
            print(f"{end}:", await fetch(server.sockets[0].getsockname()[1]))
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    async with websockets.serve(relay("silent"), "127.0.0.1", 0) as server:
        print("two relays, one closed:", await fetch(server.sockets[0].getsockname()[1], port))
    print("one relay, closed:", await fetch(port))

asyncio.run(main())
PY
timeout 80 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'END'
all: m1 m2 m3
silent: m2 m3
rate-limited: m2 m3
error: m2 m3
lost: m2 m3
two relays, one closed: m2 m3
one relay, closed: nothing
END
cmp seen expected

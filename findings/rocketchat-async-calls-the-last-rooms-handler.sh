#!/bin/sh
# rocketchat-async 4.3.0 with websockets 10.4 (PyPI), with a stand-in of Rocket.Chat's Realtime API.
#
# Guess: `subscribe_to_channel_messages` binds a callback to one channel, since it takes one: a bot
# that relays two rooms gives each its own.
# Guess: `send_message` that the server refuses ("error-not-allowed") raises.
# Guess: after `unsubscribe` the callback is not called any more.
# Seen: one callback is kept for the whole stream of messages. The second subscription replaces that
# of the first, so messages of both rooms go to the callback of the second room. Only the channel in
# its arguments tells them apart; a callback that trusts its subscription stores them in the wrong
# room.
# Seen: a refused message returns None, as an accepted one does, so an outbox takes it for sent.
# Seen: after `unsubscribe` of the second room the messages of the first one still go to its
# callback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install rocketchat-async==4.3.0 websockets==10.4 2>pip.log
cat >try.py <<'PY'
import asyncio
import json

import websockets
from rocketchat_async import RocketChat

links = []
REFUSAL = {"isClientSafe": True, "error": "error-not-allowed", "reason": "Not allowed",
           "message": "Not allowed [error-not-allowed]", "errorType": "Meteor.Error"}
SAID = []


async def serve(link):
    links.append(link)
    async for text in link:
        asked = json.loads(text)
        answer = {"msg": "result", "id": asked.get("id")}
        if asked["msg"] == "connect":
            answer = {"msg": "connected", "session": "one"}
        elif asked["msg"] == "sub":
            answer = {"msg": "ready", "subs": [asked["id"]]}
        elif asked["msg"] == "unsub":
            answer = {"msg": "nosub", "id": asked["id"]}
        elif asked["method"] == "login":
            answer["result"] = {"id": "bot", "token": "t", "tokenExpires": {"$date": 0}}
        elif asked["method"] == "sendMessage" and asked["params"][0]["rid"] == "archive":
            answer["error"] = REFUSAL
        else:
            answer["result"] = asked["params"][0]
        await link.send(json.dumps(answer))


async def push(room, text):
    before = len(SAID)
    await links[0].send(json.dumps({
        "msg": "changed", "collection": "stream-room-messages", "id": "id", "fields": {
            "eventName": room, "args": [{
                "_id": text, "rid": room, "msg": text, "ts": {"$date": 1777636800000},
                "u": {"_id": "eva", "username": "eva"}}]}}))
    while len(SAID) == before:
        await asyncio.sleep(0.01)


def handler(room):
    def handle(channel, sender, key, thread, text, *rest):
        SAID.append(text)
        print(f"{text}: of {channel}, to the callback of {room}", flush=True)
    return handle


async def main():
    server = await websockets.serve(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    bot = RocketChat()
    await bot.start(f"ws://127.0.0.1:{port}/websocket", "bot", "secret")
    for room in "harbour", "market":
        key = await bot.subscribe_to_channel_messages(room, handler(room))
    await push("harbour", "m1")
    await push("market", "m2")
    for room in "harbour", "archive":
        print(f"send to {room}:", await bot.send_message("hello", room))
    await bot.unsubscribe(key)
    await push("harbour", "m3")


asyncio.run(asyncio.wait_for(main(), 60))
PY
timeout 80 venv/bin/python try.py 2>errors | tee seen
cat >expected <<'END'
m1: of harbour, to the callback of market
m2: of market, to the callback of market
send to harbour: None
send to archive: None
m3: of harbour, to the callback of market
END
cmp seen expected

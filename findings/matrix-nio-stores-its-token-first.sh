#!/bin/sh
# matrix-nio 0.26.0 (PyPI).
#
# Guess: with `store_sync_tokens` the token of a sync is stored after its events were handed to the
# callbacks, so what a program could not store before it ended, or before a callback raised, comes
# again after a restart.
# Seen: it is stored first. A callback that raises ends the handing out: the rest of the room, and
# the rooms after it, never get theirs, in this run or after a restart, since both go on behind
# them. Rooms that were not reached do not even exist for the program. Do not let nio store tokens:
# store `next_batch` yourself, with the rows, and give it to `sync(since=...)`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install 'matrix-nio[e2e]==0.26.0' 2>pip.log
mkdir store
cat >try.py <<'PY'
import asyncio

from nio import AsyncClient, AsyncClientConfig, RoomMessageText, SyncResponse


def client():
    made = AsyncClient("http://127.0.0.1:9", "@eva:localhost", "DEVICE", store_path="store",
                       config=AsyncClientConfig(store_sync_tokens=True))
    made.restore_login("@eva:localhost", "DEVICE", "token")
    return made


def room(*texts):
    return {"timeline": {"limited": False, "prev_batch": "s0", "events": [
        {"type": "m.room.message", "event_id": f"${text}", "sender": "@jan:localhost",
         "origin_server_ts": 1, "content": {"msgtype": "m.text", "body": text}}
        for text in texts]}, "state": {"events": []}, "ephemeral": {"events": []},
        "account_data": {"events": []}}


async def main():
    seen = []

    async def store(where, event):
        if event.body == "two":
            raise OSError("the disk is full")
        seen.append(event.body)

    first = client()
    first.add_event_callback(store, RoomMessageText)
    answer = SyncResponse.from_dict({
        "next_batch": "s1", "device_one_time_keys_count": {}, "device_lists": {},
        "to_device": {"events": []}, "rooms": {"invite": {}, "leave": {}, "join": {
            "!harbour:localhost": room("one", "two", "three"), "!pier:localhost": room("four")}}})
    try:
        await first.receive_response(answer)
    except OSError as error:
        print("raised:", error, "- stored", *seen, "- rooms", *first.rooms)
    await first.receive_response(answer)
    print("the same answer again: stored", *seen, "- goes on from", first.next_batch)
    await first.close()
    second = client()
    print("after a restart: goes on from", second.loaded_sync_token)
    await second.close()

asyncio.run(main())
PY
venv/bin/python try.py 2>try.log | tee seen
grep -qx 'raised: the disk is full - stored one - rooms !harbour:localhost' seen
grep -qx 'the same answer again: stored one - goes on from s1' seen
grep -qx 'after a restart: goes on from s1' seen

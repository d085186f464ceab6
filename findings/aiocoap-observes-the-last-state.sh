#!/bin/sh
# aiocoap 0.4.17 (PyPI), CoAP with Observe (RFC 7641), client and server.
#
# Guess: `async for` over `request.observation`, which the documentation prefers, gives each
# notification that arrived, in order, however long the loop works on one: it is a queue.
# Guess: `updated_state()` of a resource sends a notification to each observer, each time.
# Seen: the iterator keeps one notification. A loop that works on the first one while nine more
# arrive gets the tenth next, and no sign of the eight between. The old `register_callback`, which
# warns that it is deprecated in favour of the iterator, gets all ten.
# Seen: `updated_state()` that is called five times before the event loop's next turn sends one
# notification, with the last text. A room whose resource is its newest message loses messages on
# both sides; notifications are only a reason to ask for a list.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install aiocoap==0.4.17 2>pip.log
cat >try.py <<'PY'
import asyncio
import socket
import warnings

from aiocoap import CHANGED, GET, POST, Context, Message
from aiocoap.resource import ObservableResource, Site

warnings.simplefilter("ignore", DeprecationWarning)


class Room(ObservableResource):
    text = "m0"

    def write(self, text):
        self.text = text
        self.updated_state()

    async def render_get(self, request):
        return Message(payload=self.text.encode())

    async def render_post(self, request):
        self.write(request.payload.decode())
        return Message(code=CHANGED)


async def until(heard, text):
    while text not in heard:
        await asyncio.sleep(0.01)


async def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"coap://127.0.0.1:{port}/room"
    room, site = Room(), Site()
    site.add_resource(["room"], room)
    await Context.create_server_context(site, bind=("127.0.0.1", port))
    reader, writer = [await Context.create_client_context() for _ in range(2)]
    request = reader.request(Message(code=GET, uri=address, observe=0))
    await request.response
    by_loop, by_callback = [], []
    request.observation.register_callback(lambda each: by_callback.append(each.payload.decode()))

    async def loop():
        async for each in request.observation:
            by_loop.append(each.payload.decode())
            if by_loop == ["m1"]:
                await until(by_callback, "m10") # Works on the first until all have arrived.

    task = asyncio.create_task(loop())
    for number in range(1, 11):
        text = f"m{number}"
        await writer.request(Message(code=POST, uri=address, payload=text.encode())).response
        await until(by_callback, text)
    await until(by_loop, "m10")
    print("callback:", *by_callback)
    print("loop:", *by_loop)
    by_callback.clear()
    for number in range(11, 16):
        room.write(f"m{number}")
    await until(by_callback, "m15")
    await asyncio.sleep(1) # Others would arrive now.
    print("five at once, callback:", *by_callback, flush=True)
    task.cancel()


asyncio.run(asyncio.wait_for(main(), 60))
PY
timeout 80 venv/bin/python try.py 2>errors | tee seen
cat >expected <<'END'
callback: m1 m2 m3 m4 m5 m6 m7 m8 m9 m10
loop: m1 m10
five at once, callback: m15
END
cmp seen expected

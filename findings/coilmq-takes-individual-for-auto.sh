#!/bin/sh
# CoilMQ 1.1.0 (PyPI, a server of STOMP) with stomp.py 9.0.0 (PyPI), STOMP 1.1.
#
# Guess: with `ack:client-individual`, the mode that STOMP 1.1 brought, a message that was not
# confirmed is given to another consumer when its own one has left. A mode that the server does not
# know is answered with an ERROR.
# Guess: what comes back is given out before the messages behind it, since it is the oldest.
# Seen: the mode is taken for `auto`, without a word: all messages are handed out at once, and count
# as done. A consumer that confirmed two of five and left takes the other three with it.
# Seen: with `ack:client` one message is under way at a time, and none is lost. The one that comes
# back is given out last, behind all that came later. `auto` is as one would think.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install coilmq==1.1.0 stomp-py==9.0.0 2>pip.log
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
cat >try.py <<'PY'
import queue
import sys
import time

import stomp


class Client(stomp.ConnectionListener):
    def __init__(self, place=None, mode="auto"):
        self.heard, self.receipts, self.errors = queue.Queue(), queue.Queue(), []
        self.link = stomp.Connection11([("127.0.0.1", int(sys.argv[1]))], heartbeats=(0, 0))
        self.link.set_listener("", self)
        self.link.connect(wait=True)
        if place:
            self.link.subscribe(place, id="1", ack=mode, receipt="subscribed")
            self.receipts.get(timeout=20)

    def on_message(self, frame):
        self.heard.put((frame.headers["message-id"], frame.body))

    def on_receipt(self, frame):
        self.receipts.put(frame.headers["receipt-id"])

    def on_error(self, frame):
        self.errors.append(frame.body)

    def write(self, place, text):
        self.link.send(place, text, receipt=text)
        self.receipts.get(timeout=20)

    def leave(self):
        self.link.disconnect(receipt="left")
        self.receipts.get(timeout=20)


writer = Client()
for mode in "client", "client-individual":
    place = f"/queue/{mode}"
    for number in range(1, 6):
        writer.write(place, f"m{number}")
    first, found = Client(place, mode), []
    for _ in range(2):
        key, text = first.heard.get(timeout=20)
        found.append(text)
        first.link.ack(key, "1")
    time.sleep(1) # For all that the server would send, and for the second `ack`.
    found += [first.heard.get()[1] for _ in range(first.heard.qsize())]
    first.leave()
    print(f"{mode}: the first got", *found, "- confirmed m1 m2 - errors:", len(first.errors))
    second = Client(place)
    writer.write(place, "end")
    rest = []
    while "end" not in rest:
        rest.append(second.heard.get(timeout=20)[1])
    print(f"{mode}: the second got", *rest, flush=True)
    second.leave()
writer.leave()
PY
venv/bin/coilmq -b 127.0.0.1 -p "$port" >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null
  then break; fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" | tee seen
cat >expected <<'END'
client: the first got m1 m2 m3 - confirmed m1 m2 - errors: 0
client: the second got m4 m5 m3 end
client-individual: the first got m1 m2 m3 m4 m5 - confirmed m1 m2 - errors: 0
client-individual: the second got end
END
cmp seen expected

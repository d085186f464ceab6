#!/bin/sh
# Synapse 1.163.2 (PyPI, matrix-synapse).
#
# Guess: `GET /sync` without `since` tells the state of now, and with the same `since` again all
# that has happened since, so a client that lost its token, or checks a count of unread messages,
# asks so.
# Seen: an answer is kept for two minutes (`sync_response_cache_duration`) and given again for the
# same parameters, as it was: without the messages since, with the old count after a read receipt,
# and with the text of a message that was redacted meanwhile. Its `next_batch` is the old one, so a
# client that goes on from there misses nothing. One that takes it for the state of now does;
# another `timeout`, of 1 ms say, gets that.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install matrix-synapse==1.163.2 2>pip.log
venv/bin/python -m synapse.app.homeserver -c homeserver.yaml --server-name localhost \
  --generate-config --report-stats=no >make.log 2>&1
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/port: 8008/port: $port/" homeserver.yaml
cat >>homeserver.yaml <<'YAML'

enable_registration: true
enable_registration_without_verification: true
suppress_key_server_warning: true
YAML
cat >try.py <<'PY'
import json
import sys
import time
import urllib.request
from urllib.parse import quote

TOKEN = ""


def ask(method, path, body=None):
    head = {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}
    request = urllib.request.Request(
        f"http://127.0.0.1:{sys.argv[1]}/_matrix/client/{path}",
        None if method == "GET" else json.dumps(body or {}).encode(), head, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


for _ in range(300):
    try:
        ask("GET", "versions")
        break
    except OSError:
        time.sleep(0.2)
TOKENS = {}
for name in "eva", "jan":
    TOKEN = ""
    TOKENS[name] = ask("POST", "v3/register", {
        "username": name, "password": "for this machine alone",
        "auth": {"type": "m.login.dummy"}})["access_token"]
TOKEN = TOKENS["eva"]
room = ask("POST", "v3/createRoom", {"preset": "public_chat"})["room_id"]
path = "v3/rooms/" + quote(room)


def jan(*request):
    global TOKEN
    TOKEN = TOKENS["jan"]
    answer = ask(*request)
    TOKEN = TOKENS["eva"]
    return answer


def send(text):
    made = jan("PUT", f"{path}/send/m.room.message/{text}", {"msgtype": "m.text", "body": text})
    return made["event_id"]


def sync(name, parameters="timeout=0"):
    answer = ask("GET", f"v3/sync?{parameters}")
    found = answer["rooms"].get("join", {}).get(room, {}) if "rooms" in answer else {}
    texts = [each["content"].get("body", "redacted") for each in
             found.get("timeline", {}).get("events", []) if each["type"] == "m.room.message"]
    unread = found.get("unread_notifications", {}).get("notification_count", 0)
    print(f"{name}:", *texts, "- unread", unread)
    return answer["next_batch"]


jan("POST", f"v3/join/{quote(room)}")
first = send("one")
start = sync("without since")
last = send("two")
ask("POST", f"{path}/receipt/m.read/{quote(last)}")
jan("PUT", f"{path}/redact/{quote(first)}/redaction")
print("the same token:", sync("one more, read, and one redacted") == start)
sync("with a timeout of 1 ms", "timeout=1")
sync("since the first", f"timeout=0&since={start}")
send("three")
sync("since the first, again", f"timeout=0&since={start}")
PY
venv/bin/python -m synapse.app.homeserver -c homeserver.yaml >server.log 2>&1 &
server=$!
timeout 100 venv/bin/python try.py "$port" | tee seen
grep -qx 'without since: one - unread 1' seen
grep -qx 'one more, read, and one redacted: one - unread 1' seen
grep -qx 'the same token: True' seen
grep -qx 'with a timeout of 1 ms: redacted two - unread 0' seen
test "$(grep -c '^since the first.*: two - unread 0$' seen)" = 2

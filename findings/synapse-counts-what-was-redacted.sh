#!/bin/sh
# Synapse 1.163.2 (PyPI, matrix-synapse).
#
# Guess: `notification_count` of a room is the number of its unread messages, so a redaction of one
# of them lowers it, whenever it comes, and that of a mention lowers `highlight_count` as well.
# Guess: a receipt for the newest message that is listed leaves nothing unread.
# Seen: every 30 seconds Synapse adds up what it has counted, and the sum knows no parts. An earlier
# redaction lowers the count; a later one does not, so the count depends on when a clock ticked.
# Mentions are lowered always. Three are unread, and one is listed.
# Seen: a receipt for that one does not correct it. A client that shows the server's count shows
# messages that nobody can find; one that counts what it has stored shows the right number.
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
import sqlite3
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


def send(text, **more):
    return jan("PUT", f"{path}/send/m.room.message/{text}", {
        "msgtype": "m.text", "body": text, **more})["event_id"]


def redact(name, *events):
    for event in events:
        jan("PUT", f"{path}/redact/{quote(event)}/{quote(event)}")
    count(name)


def count(name):
    """Asks with another filter each time, since Synapse gives the same request its old answer."""
    count.turn += 1
    want = quote(json.dumps({"room": {"timeline": {"limit": 50 + count.turn}}}))
    found = ask("GET", f"v3/sync?timeout=0&filter={want}")["rooms"]["join"][room]
    texts = [each["content"]["body"] for each in found["timeline"]["events"]
             if each["type"] == "m.room.message" and each["content"]]
    unread = found["unread_notifications"]
    print(f"{name}: listed", *texts, "- unread:", unread["notification_count"],
          "mentions:", unread["highlight_count"])


def summed():
    """Waits until Synapse has added up what it counted until now, as it does every 30 seconds."""
    base = sqlite3.connect("file:homeserver.db?mode=ro", uri=True, timeout=20)
    newest, = base.execute("SELECT max(stream_ordering) FROM events").fetchone()
    while base.execute("SELECT stream_ordering FROM event_push_summary_stream_ordering"
                       ).fetchone()[0] < newest:
        time.sleep(0.2)
    base.close()


count.turn = 0
jan("POST", f"v3/join/{quote(room)}")
m1, m2 = send("m1"), send("m2")
m3 = send("m3", **{"m.mentions": {"user_ids": ["@eva:localhost"]}})
count("three messages")
summed()
m4 = send("m4")
count("after a while, one more")
redact("m4 is redacted at once", m4)
redact("m3 and m2 are redacted", m3, m2)
ask("POST", f"{path}/receipt/m.read/{quote(m1)}")
count("m1 is read")
PY
venv/bin/python -m synapse.app.homeserver -c homeserver.yaml >server.log 2>&1 &
server=$!
timeout 100 venv/bin/python try.py "$port" | tee seen
cat >expected <<'EOF'
three messages: listed m1 m2 m3 - unread: 3 mentions: 1
after a while, one more: listed m1 m2 m3 m4 - unread: 4 mentions: 1
m4 is redacted at once: listed m1 m2 m3 - unread: 3 mentions: 1
m3 and m2 are redacted: listed m1 - unread: 3 mentions: 0
m1 is read: listed m1 - unread: 3 mentions: 0
EOF
cmp seen expected

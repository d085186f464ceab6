#!/bin/sh
# Synapse 1.163.2 (PyPI, matrix-synapse), simplified sliding sync (MSC4186).
#
# Guess: `notification_count` and `highlight_count`, which each room of an answer has, are the
# counts of unread messages and mentions, as in `/sync`.
# Guess: a larger `timeline_limit` in a later request counts for what comes from then on.
# Seen: both counts are 0, always. A list that shows them says that all was read, beside another
# client of the same user that shows messages and a mention; they are to be asked of `/sync`.
# Seen: the larger limit makes the room come once more, without any news, as a timeline that is
# `limited`: the messages that this connection was given already, and older ones before them. Only
# `num_live` (0) tells them from news; a client that notifies for each event of a timeline does so
# again.
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


def send(text, **more):
    jan("PUT", f"{path}/send/m.room.message/{text}", {"msgtype": "m.text", "body": text, **more})


def slide(name, limit, position=None):
    """One answer of sliding sync, to a connection that has one list; gives its position."""
    answer = ask("POST", "unstable/org.matrix.simplified_msc3575/sync?timeout=0" +
                 (f"&pos={position}" if position else ""),
                 {"conn_id": "one", "lists": {"all": {
                     "ranges": [[0, 9]], "timeline_limit": limit, "required_state": []}}})
    found = answer["rooms"].get(room)
    if not found:
        print(f"{name}: nothing")
        return answer["pos"]
    texts = [each["content"]["body"] for each in found["timeline"]
             if each["type"] == "m.room.message"]
    print(f"{name}:", *texts, "- limited:", found.get("limited"), "live:", found["num_live"],
          "unread:", found["notification_count"], "mentions:", found["highlight_count"])
    return answer["pos"]


jan("POST", f"v3/join/{quote(room)}")
for number in range(1, 5):
    send(f"m{number}")
send("m5", **{"m.mentions": {"user_ids": ["@eva:localhost"]}})
counts = ask("GET", "v3/sync?timeout=0")["rooms"]["join"][room]["unread_notifications"]
print("sync: unread:", counts["notification_count"], "mentions:", counts["highlight_count"])
position = slide("first", 2)
send("m6")
position = slide("news", 2, position)
position = slide("a larger limit", 5, position)
slide("and again", 5, position)
PY
venv/bin/python -m synapse.app.homeserver -c homeserver.yaml >server.log 2>&1 &
server=$!
timeout 100 venv/bin/python try.py "$port" | tee seen
cat >expected <<'EOF'
sync: unread: 5 mentions: 1
first: m4 m5 - limited: True live: 0 unread: 0 mentions: 0
news: m6 - limited: False live: 1 unread: 0 mentions: 0
a larger limit: m2 m3 m4 m5 m6 - limited: True live: 0 unread: 0 mentions: 0
and again: nothing
EOF
cmp seen expected

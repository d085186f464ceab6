#!/bin/sh
# Synapse 1.163.2 (PyPI, matrix-synapse).
#
# Guess: a transaction id is known again for the same device and path only, as the specification
# says (Client-Server API 1.7, "Transaction identifiers"), so a redaction, or a reaction, may have
# the id that its message had: the client's own id of it, say.
# Seen: the scope is the device and the room. The redaction is answered with 200 and the id of the
# message, and nothing is redacted; the reaction likewise, and it does not exist. A client that
# makes its ids from the message alone shows as done what was never done. In another room the id is
# free.
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
TOKEN = ask("POST", "v3/register", {"username": "eva", "password": "for this machine alone",
                                    "auth": {"type": "m.login.dummy"}})["access_token"]
room, other = ("v3/rooms/" + quote(ask("POST", "v3/createRoom")["room_id"]) for _ in range(2))
text = {"msgtype": "m.text", "body": "one"}
message = ask("PUT", f"{room}/send/m.room.message/a", text)["event_id"]
about = {"rel_type": "m.annotation", "event_id": message, "key": "+"}
for name, where, what in (
        ("the message again", f"{room}/send/m.room.message/a", text),
        ("a reaction", f"{room}/send/m.reaction/a", {"m.relates_to": about}),
        ("a redaction", f"{room}/redact/{quote(message)}/a", {}),
        ("in another room", f"{other}/send/m.room.message/a", text),
        ("a redaction with an id of its own", f"{room}/redact/{quote(message)}/b", {})):
    made = ask("PUT", where, what)["event_id"]
    found = ask("GET", f"{room}/event/{quote(message)}")
    kinds = [each["type"] for each in ask("GET", f"{room}/messages?dir=b&limit=50")["chunk"]]
    print(f"{name}: the message's id {made == message}, reactions {kinds.count('m.reaction')},",
          f"text {found['content'].get('body')}")
PY
venv/bin/python -m synapse.app.homeserver -c homeserver.yaml >server.log 2>&1 &
server=$!
venv/bin/python try.py "$port" | tee seen
grep -qx "the message again: the message's id True, reactions 0, text one" seen
grep -qx "a reaction: the message's id True, reactions 0, text one" seen
grep -qx "a redaction: the message's id True, reactions 0, text one" seen
grep -qx "in another room: the message's id False, reactions 0, text one" seen
grep -qx "a redaction with an id of its own: the message's id False, reactions 0, text None" seen

#!/bin/sh
# Apprise 2.3.0 (PyPI; one call for many services), with a server of this script that keeps the rule
# of Matrix (Client-Server API 1.7, "Transaction identifiers"): a known id of the same room and token
# is answered with the first event, and nothing is stored.
#
# Guess: each `notify` to a Matrix room is a message of its own, whether the address has a user and
# a password or the access token of a bot.
# Guess: `notify` whose message is not in the room afterwards returns something false.
# Seen: with a user and a password it is so.
# Seen: with an access token the object makes one id, at its first message, and sends all messages
# of its life under it. The server takes the second for a repetition of the first. Each call returns
# success. The room has the first message of each process, and none of the later ones.
# An object for each message is a way round.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install apprise==2.3.0 2>pip.log
cat >try.py <<'PY'
import http.server
import json
import threading

import apprise

stored = {}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *rest):
        pass

    def reply(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        known = {"access_token": "of-a-login", "user_id": "@bot:localhost", "device_id": "D",
                 "home_server": "localhost", "room_id": "!room:localhost"}
        if "/send/m.room.message/" in self.path:
            key = self.headers["Authorization"], self.path
            stored.setdefault(key, body["body"])
            known = {"event_id": "$" + str(list(stored).index(key))}
        text = json.dumps(known).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = reply


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def made(login):
    bot = apprise.Apprise()
    bot.add(f"matrix://{login}@127.0.0.1:{server.server_port}/!room:localhost?discovery=no")
    return bot


def show(name, results):
    print(f"{name}: returned", *(bool(each) for each in results), "- the room has",
          *stored.values(), flush=True)
    stored.clear()


for name, login in ("user and password", "bot:secret"), ("token", "a-long-access-token"):
    bot = made(login)
    show(name, [bot.notify(body=f"m{number}") for number in (1, 2, 3)])
show("token, an object each",
     [made("a-long-access-token").notify(body=f"m{number}") for number in (1, 2, 3)])
PY
timeout 80 venv/bin/python try.py | tee seen
cat >expected <<'END'
user and password: returned True True True - the room has m1 m2 m3
token: returned True True True - the room has m1
token, an object each: returned True True True - the room has m1 m2 m3
END
cmp seen expected

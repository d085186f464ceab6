#!/bin/sh
# pyTelegramBotAPI 4.37.1 (PyPI, module `telebot`), with a stand-in of Telegram's Bot API.
#
# Guess: with `infinity_polling`, a handler that raises costs its own update. The updates behind it
# in the same answer are handed out, or come again, since Telegram keeps what was not confirmed.
# Guess: updates are handed out by `update_id`, whatever their kind: an edit comes before the
# messages that were sent after it.
# Guess: handlers of one chat's messages do not overtake each other.
# Seen (`threaded=False`): the exception ends the polling, which begins again after three seconds
# behind the whole answer. The rest of it, up to a hundred updates, is confirmed and never handed
# out; the log has the text of the exception only.
# Seen: an answer is sorted by kind: all messages, then all edits, then posts of channels, and so
# on, so an edit is handed out behind messages that were sent after it. With threads, the default,
# handlers run side by side, and the later message may be stored first.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pyTelegramBotAPI==4.37.1 2>pip.log
cat >try.py <<'PY'
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import telebot

BOTS = {}  # By the token in the path: what waits to be confirmed, and where the bot asks from.


def update(key, kind, number, text):
    return {"update_id": key, kind: {
        "message_id": number, "date": 1_790_000_000, "text": text,
        "chat": {"id": 5, "type": "private"},
        "from": {"id": 5, "is_bot": False, "first_name": "jan"}}}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *rest):
        pass

    def do_GET(self):
        path = urlsplit(self.path)
        token, method = path.path.strip("/").split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        result = {"id": 1, "is_bot": True, "first_name": "bot", "username": "bot"}
        if method == "getUpdates":
            waiting, asked = BOTS[token]
            offset = int(parse_qs(path.query or body).get("offset", ["0"])[0])
            asked.append(offset)
            result = waiting[:] = [each for each in waiting if each["update_id"] >= offset]
            if not waiting:
                time.sleep(0.3)
        answer = json.dumps({"ok": True, "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET


def case(name, updates, fails=None, waits=None, **choice):
    token = f"{len(BOTS) + 1}:x"
    waiting, asked = BOTS["bot" + token] = list(updates), []
    seen, bot = [], telebot.TeleBot(token, **choice)

    @bot.message_handler(func=lambda message: True)
    def take(message):
        if message.text == waits:
            time.sleep(2)
        seen.append(message.text)
        if message.text == fails:
            raise OSError("no room on the disk")

    @bot.edited_message_handler(func=lambda message: True)
    def edit(message):
        seen.append(f"edit:{message.text}")

    threading.Thread(target=bot.infinity_polling, kwargs={"timeout": 1}, daemon=True).start()
    for _ in range(300):
        if len(asked) > 1 and not waiting:
            break
        time.sleep(0.1)
    time.sleep(3)
    print(f"{name}: {' '.join(seen)}; left on the server: {len(waiting)}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
telebot.apihelper.API_URL = f"http://127.0.0.1:{server.server_port}/bot{{0}}/{{1}}"
ROOM = [update(1, "message", 1, "m1"), update(2, "message", 2, "m2"),
        update(3, "edited_message", 1, "m1"), update(4, "message", 3, "m3")]
case("all goes well", ROOM, threaded=False)
case("m2 raises", ROOM, fails="m2", threaded=False)
case("m2 is slow, with threads", ROOM, waits="m2")
PY
timeout 90 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
all goes well: m1 m2 m3 edit:m1; left on the server: 0
m2 raises: m1 m2; left on the server: 0
m2 is slow, with threads: m1 m3 edit:m1 m2; left on the server: 0
EOF
cmp seen expected

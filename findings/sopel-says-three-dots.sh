#!/bin/sh
# Sopel 8.0.4 (PyPI, a framework of bots for IRC), with a server of this script.
#
# Guess: `bot.say` sends each text that it is given, one after the other, slower where they are
# many; or it raises.
# Guess: a text that is too long for a line is divided, as a relay needs it.
# Seen: a text that is among the last ten to a room five times, by whomever, is sent as "...", and
# after three of those not at all. `say` returns as always. A bot that carries a room into another
# one, or counts votes, drops the sixth "ok" of six people. `antiloop_threshold = 0` ends it.
# Seen: of a long text one line is sent, and the rest is dropped, without a mark. `max_messages` is
# to be given with each call.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install sopel==8.0.4 2>pip.log
mkdir plugins
cat >plugins/relay.py <<'PY'
from sopel import plugin


@plugin.rule(".*")
@plugin.thread(False)
def relay(bot, trigger):
    """Carries what is said in one room into the other."""
    if trigger.sender == "#here":
        bot.say("long " * 120 if trigger == "long" else str(trigger), "#there")
PY
cat >try.py <<'PY'
import os
import queue
import socket
import sys
import threading

from sopel.bot import Sopel
from sopel.config import Config

NAME, CHOICE = sys.argv[1], sys.argv[2:]
listener, said = socket.create_server(("127.0.0.1", 0)), queue.Queue()
port = listener.getsockname()[1]
with open("bot.cfg", "w") as file:
    print("[core]", "nick = bot", "owner = eva", "host = 127.0.0.1", f"port = {port}",
          "use_ssl = false", f"homedir = {os.getcwd()}/home", "channels =", '  "#here"',
          '  "#there"', "enable = relay", f"extra = {os.getcwd()}/plugins",
          "flood_empty_wait = 0.1", *CHOICE, sep="\n", file=file)
os.makedirs("home", exist_ok=True)


def serve():
    """Lets the bot in, says what is to be carried, and collects what it says."""
    link = listener.accept()[0]
    lines = link.makefile("r", encoding="utf-8", newline="\r\n")

    def send(text):
        link.sendall((text + "\r\n").encode())

    for line in lines:
        line = line.rstrip("\r\n")
        verb, *words = line.split(" ")
        if verb == "CAP" and words[0] == "LS":
            send(":localhost CAP * LS :")
        elif verb == "USER":
            send(":localhost 001 bot :welcome")
            send(":localhost 376 bot :end")
        elif verb == "PING":
            send(f":localhost PONG localhost {words[0]}")
        elif verb == "JOIN":
            send(f":bot!bot@localhost JOIN {words[0]}")
            send(f":localhost 366 bot {words[0]} :end")
            if "#there" in words[0]:
                for number in range(12):
                    send(f":user{number}!user@localhost PRIVMSG #here :ok")
                send(":eva!eva@localhost PRIVMSG #here :long")
                send(":eva!eva@localhost PRIVMSG #here :end")
        elif verb == "PRIVMSG":
            said.put(line.split(":", 1)[1])


def collect():
    texts = []
    while not texts or texts[-1] != "end":
        texts.append(said.get(timeout=40))
    print(f"{NAME}: {texts.count('ok')} ok, {texts.count('...')} dots,",
          sum("long" in text for text in texts), "line of the long text,",
          "all of it" if sum(text.count("long") for text in texts) == 120 else "not all of it",
          flush=True)
    os._exit(0)


for each in serve, collect:
    threading.Thread(target=each, daemon=True).start()
bot = Sopel(Config("bot.cfg"))
bot.setup()
bot.run("127.0.0.1", port)
PY
timeout 45 venv/bin/python try.py default 2>try.log | tee seen
timeout 45 venv/bin/python try.py 'no threshold' 'antiloop_threshold = 0' 2>>try.log | tee -a seen
cat >expected <<'END'
default: 5 ok, 3 dots, 1 line of the long text, not all of it
no threshold: 12 ok, 0 dots, 1 line of the long text, not all of it
END
cmp seen expected

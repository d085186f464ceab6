#!/bin/sh
# InspIRCd 3.15.0 (Debian bookworm, 3.15.0-1), its module chanhistory.
#
# Guess: the history that a channel replays has the `time` and `msgid` (IRCv3) that each message had
# when it was said: a client that has it already finds it by either.
# Guess: only a client that knows history, by the capabilities `batch` and `server-time`, gets it.
# Seen: the `msgid` is the same. The `time` is not: live it has milliseconds, in the history they
# are 000, so the copy looks up to a second older. A client that compares times and texts shows the
# message twice; one that sorts by time puts what was said within that second before it.
# Seen: a client without these capabilities gets the lines as if they were said now, behind a
# notice: a bot answers them again with each join.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download inspircd=3.15.0-1 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
modules=$(dirname "$(find root -name m_chanhistory.so)")
mkdir conf data log run
cat >inspircd.conf <<CONF
<server name="irc.example.org" description="irc" network="irc" id="97K">
<admin name="eva" nick="eva" email="eva@example.org">
<bind address="127.0.0.1" port="$port" type="clients">
<connect allow="*" threshold="1000" commandrate="1000000" fakelag="no" localmax="9" globalmax="9"
  resolvehostnames="no">
<path configdir="$folder/conf" datadir="$folder/data" logdir="$folder/log"
  moduledir="$folder/$modules" runtimedir="$folder/run">
<module name="cap"><module name="ircv3_servertime"><module name="ircv3_batch">
<module name="ircv3_msgid"><module name="ircv3_ctctags"><module name="chanhistory">
CONF
cat >try.py <<'PY'
import re
import socket
import sys
import time


class Client:
    def __init__(self, name, wanted=None):
        self.link = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
        self.lines = self.link.makefile("r", encoding="utf-8", newline="\r\n")
        if wanted:
            self.send(f"CAP REQ :{wanted}", "CAP END")
        self.send(f"NICK {name}", f"USER {name} 0 * :{name}")
        self.until(" 422 ")

    def send(self, *lines):
        self.link.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def until(self, part):
        found = []
        while not found or part not in found[-1]:
            found.append(next(self.lines).rstrip())
            if found[-1].startswith("PING"):
                self.send("PONG" + found[-1][4:])
        return found


def parts(lines):
    """Of each message: its text, its time, and its id."""
    return [(line.rpartition(":")[2], *(re.search(f"{tag}=([^; ]+)", line)[1]
                                        for tag in ("time", "msgid")))
            for line in lines if " PRIVMSG " in line]


FULL = "message-tags server-time batch"
writer, reader = Client("eva"), Client("jan", FULL)
writer.send("JOIN #harbour", "MODE #harbour +H 10:1h")
writer.until(" MODE ")
reader.send("JOIN #harbour")
reader.until(" 366 ")
for number in range(1, 6):
    time.sleep(0.25)
    writer.send(f"PRIVMSG #harbour :m{number}")
live = parts(reader.until(":m5"))
late = Client("late", FULL)
late.send("JOIN #harbour")
old = parts(late.until(":m5"))
print("the same texts and ids:", [(text, key) for text, _, key in live] ==
      [(text, key) for text, _, key in old])
print("milliseconds, live:", *sorted({len(at.partition(".")[2]) - 1 for _, at, _ in live}),
      "digits, all 000:", all(at.endswith(".000Z") for _, at, _ in live))
print("milliseconds, history: all 000:", all(at.endswith(".000Z") for _, at, _ in old),
      "- the same second:", all(a[1][:19] == b[1][:19] for a, b in zip(live, old)))
plain = Client("bot")
plain.send("JOIN #harbour")
print("without capabilities:",
      *(line.partition(" ")[2] for line in plain.until(":m5") if " PRIVMSG " in line), sep="\n  ")
PY
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
root/usr/sbin/inspircd --nofork --nolog --runasroot --config "$folder/inspircd.conf" \
  >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q 'is now running' server.log; then break; fi
  sleep 0.1
done
timeout 60 python3 try.py "$port" 2>try.log | tee seen
grep -qx 'the same texts and ids: True' seen
grep -qx 'milliseconds, live: 3 digits, all 000: False' seen
grep -qx 'milliseconds, history: all 000: True - the same second: True' seen
grep -qx '  PRIVMSG #harbour :m1' seen

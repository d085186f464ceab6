#!/bin/sh
# irc 20.5.0 and pydle 1.2.0 (PyPI), ngIRCd 26.1 (Debian bookworm, 26.1-1+deb12u1).
#
# Guess: irc, which raises `MessageTooLong`, raises it for a text whose end would not arrive.
# Guess: pydle, which divides a long text, divides it so that each part fits into a line of IRC.
# Seen: irc measures the line that it sends. The server puts the sender's address in front, so a
# text that is shorter by less than this address is sent without an error and arrives without its
# end.
# Seen: pydle counts letters where IRC counts bytes. 400 letters of two bytes make one line that is
# too long, and the server ends the connection: the text is lost, with all that waits behind it, and
# a bot that sends it again after the reconnect loses each connection.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download ngircd=26.1-1+deb12u1 libident >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install irc==20.5.0 pydle==1.2.0 2>pip.log
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
cat >ngircd.conf <<CONF
[Global]
Name = irc.example.org
Info = irc
Listen = 127.0.0.1
Ports = $port
MotdPhrase = hello
[Limits]
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
CONF
cat >try.py <<'PY'
import asyncio
import sys
import time

import irc.client
import pydle

PORT = int(sys.argv[1])


class Reader:
    """Joins, and gives the texts that arrive."""

    async def start(self):
        self.lines, writer = await asyncio.open_connection("127.0.0.1", PORT)
        writer.write(b"NICK reader\r\nUSER reader 0 * :reader\r\n")
        await self.until(b" 376 ")
        writer.write(b"JOIN #harbour\r\n")
        await self.until(b" 366 ")
        return writer

    async def until(self, part):
        while part not in (line := await asyncio.wait_for(self.lines.readline(), 20)):
            pass
        return line

    async def text(self):
        line = await self.until(b" PRIVMSG ")
        return line.decode().rstrip("\r\n").split(" :", 1)[1]


def send_with_irc(*texts):
    reactor = irc.client.Reactor()
    link = reactor.server().connect("127.0.0.1", PORT, "gull")
    link.add_global_handler("endofnames", lambda *_: done.append(True))
    link.add_global_handler("welcome", lambda *_: link.join("#harbour"))
    done, end = [], time.monotonic() + 20
    while not done and time.monotonic() < end:
        reactor.process_once(0.1)
    for text in texts:
        try:
            link.privmsg("#harbour", text)
        except irc.client.MessageTooLong:
            print(f"irc, {len(text)} letters: raises")
    return link


class Tern(pydle.Client):
    def __init__(self, *rest):
        super().__init__(*rest)
        self.joined, self.lost = asyncio.Event(), asyncio.Event()

    async def on_connect(self):
        await super().on_connect()
        await self.join("#harbour")

    async def on_join(self, channel, user):
        self.joined.set()

    async def on_disconnect(self, expected):
        self.lost.set()


async def main():
    reader = Reader()
    link = await reader.start()
    gull = send_with_irc("x" * 500 + " end", "x" * 470 + " end")
    text = await reader.text()
    print("irc, 474 letters: arrives", "whole" if text.endswith(" end") else "without its end")
    gull.close()
    tern = Tern("tern")
    running = asyncio.create_task(tern.connect("127.0.0.1", PORT, tls=False))
    await asyncio.wait_for(tern.joined.wait(), 20)
    await tern.message("#harbour", "x" * 800 + " end")
    parts = [await reader.text()]
    while not parts[-1].endswith(" end"):
        parts.append(await reader.text())
    print("pydle, 804 letters of one byte: arrive in", len(parts), "lines")
    await tern.message("#harbour", "ö" * 400 + " end")
    await asyncio.wait_for(tern.lost.wait(), 20)
    print("pydle, 404 letters, 400 of two bytes: the connection is lost")
    running.cancel()
    link.close()

asyncio.run(main())
PY
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
root/usr/sbin/ngircd -n -f ngircd.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q 'Now listening' server.log; then break; fi
  sleep 0.1
done
timeout 90 venv/bin/python try.py "$port" 2>try.log | tee seen
grep -qx 'irc, 504 letters: raises' seen
grep -qx 'irc, 474 letters: arrives without its end' seen
grep -qx 'pydle, 804 letters of one byte: arrive in 2 lines' seen
grep -qx 'pydle, 404 letters, 400 of two bytes: the connection is lost' seen

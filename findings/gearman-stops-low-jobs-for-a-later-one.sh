#!/bin/sh
# gearmand 1.1.20 (Debian bookworm: gearman-job-server, 1.1.20+ds-1).
#
# Guess: a job that is to run at a time (SUBMIT_JOB_EPOCH) waits beside the others until then. A
# worker that asks in the meantime is given what is due: first jobs of high priority, then normal
# ones, then low ones.
# Guess: a unique id is a key of idempotency: a job that was sent again with it is not run twice,
# and one that has another text is refused, or takes the first one's place.
# Seen: as long as a job waits for its time, no job of low priority is handed out for its function:
# one reminder for tomorrow stops them all until tomorrow, and the worker is told that there is no
# job. High and normal ones are handed out, and so are low ones of other functions.
# Seen: a second text with the id of a job that waits is confirmed with the first one's handle and
# dropped, in whatever priority it came; after the job was done the same id is run again.
set -eu
folder=$(mktemp -d)
server=
end() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap end EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download gearman-job-server=1.1.20+ds-1 \
  libboost-program-options1.74.0 libevent-2.1-7 libevent-pthreads-2.1-7 libhashkit2 \
  libhiredis0.14 libldap-2.5-0 libmariadb3 libmemcached11 libpq5 libsasl2-2 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
cat >try.py <<'PY'
import socket
import struct
import sys
import time

PORT = int(sys.argv[1])
CAN_DO, NO_JOB, DONE, GRAB, BACKGROUND, HIGH, LOW, EPOCH = 1, 10, 13, 30, 18, 32, 34, 36


def connect():
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", PORT), timeout=20)
        except OSError:
            time.sleep(0.1)
    sys.exit("no server")


class Link:
    def __init__(self, *functions):
        self.socket = connect()
        for function in functions:
            self.send(CAN_DO, function)

    def send(self, kind, *fields):
        body = "\0".join(fields).encode()
        self.socket.sendall(b"\0REQ" + struct.pack(">II", kind, len(body)) + body)

    def ask(self, kind, *fields):
        self.send(kind, *fields)
        head = self.exactly(12)
        kind, size = struct.unpack(">4xII", head)
        return kind, self.exactly(size).decode().split("\0")

    def exactly(self, size):
        got = b""
        while len(got) < size:
            got += self.socket.recv(size - len(got)) or sys.exit("closed")
        return got

    def take(self):
        """Takes a job, does it, and returns its text, or None where the server has none."""
        kind, fields = self.ask(GRAB)
        if kind == NO_JOB:
            return None
        self.send(DONE, fields[0], "")
        return fields[-1]

    def take_all(self):
        return list(iter(self.take, None)) or ["nothing"]


client = Link()
sender, other = Link("send"), Link("other")
client.ask(LOW, "send", "", "low alone")
print("no later job:", *sender.take_all())
client.ask(EPOCH, "send", "", str(int(time.time()) + 86400), "tomorrow")
for function in "send", "other":
    client.ask(LOW, function, "", "low")
print("a job for tomorrow:", *sender.take_all(), "- of another function:", *other.take_all())
client.ask(BACKGROUND, "send", "", "normal")
client.ask(HIGH, "send", "", "high")
print("a job for tomorrow, more jobs:", ", ".join(sender.take_all()))
client.ask(EPOCH, "other", "", str(int(time.time()) + 2), "soon")
client.ask(LOW, "other", "", "low")
order, end = [], time.monotonic() + 30
while len(order) < 2 and time.monotonic() < end:
    job = other.take()
    if job:
        order.append(job)
    else:
        time.sleep(0.1)
print("a job for soon:", ", ".join(order))
_, first = client.ask(BACKGROUND, "other", "id", "one text")
_, second = client.ask(HIGH, "other", "id", "another text")
print("one id, two texts: the same handle", first == second, "- done:",
      ", ".join(other.take_all()))
client.ask(BACKGROUND, "other", "id", "one text")
print("sent again after it was done:", *other.take_all())
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':') \
  root/usr/sbin/gearmand --user "$(id -un)" -L 127.0.0.1 -p "$port" -l "$folder/server.log" &
server=$!
timeout 80 python3 try.py "$port" | tee seen
grep -qx 'no later job: low alone' seen
grep -qx 'a job for tomorrow: nothing - of another function: low' seen
grep -qx 'a job for tomorrow, more jobs: high, normal' seen
grep -qx 'a job for soon: soon, low' seen
grep -qx 'one id, two texts: the same handle True - done: one text' seen
grep -qx 'sent again after it was done: one text' seen

#!/bin/sh
# Nchan 1.3.6 (Debian bookworm, 1:1.3.6+dfsg-2) in nginx 1.22.1 (1.22.1-9+deb12u11), a server of
# channels for long polls and event streams.
#
# Guess: a reader names the last message that it has, by `Last-Event-ID`, or by `If-None-Match` and
# `If-Modified-Since`. Where the buffer has lost what came after it, the server says so, by 404 or
# 410 say, as other logs of messages do.
# Guess: so it does with an id that it never gave.
# Seen: the answer is 200 with the oldest message that is left, as if it were the next one. Ten are
# kept by default: of nineteen, a reader who has the first one gets the last ten, and no sign. Ids
# are a second and a number in it, so no gap can be seen in them.
# Seen: an id of long ago, which the server never gave, is answered in the same way. A publisher is
# answered 202, whoever misses the message.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill -9 "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download libnginx-mod-nchan=1:1.3.6+dfsg-2 \
  nginx=1.22.1-9+deb12u11 libhiredis0.14 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(echo "$folder"/root/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
cat >nginx.conf <<CONF
load_module $folder/root/usr/lib/nginx/modules/ngx_nchan_module.so;
user root;
daemon off;
master_process off;
pid nginx.pid;
error_log error.log warn;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:$port;
    location ~ /write/(\w+)$ { nchan_publisher; nchan_channel_id \$1; }
    location ~ /read/(\w+)$ { nchan_subscriber; nchan_channel_id \$1; }
  }
}
CONF
cat >try.py <<'PY'
import http.client
import sys


def ask(method, path, body=None, **head):
    link = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    link.request(method, path, body, {key.replace("_", "-"): head[key] for key in head})
    return link.getresponse()


def write(first, last):
    codes = {ask("POST", "/write/room", f"m{number}").status for number in range(first, last + 1)}
    print(f"m{first} to m{last}:", *codes)


def poll(name, place, last):
    """Reads on from a place until the message `last`."""
    found, codes = [], set()
    while last not in found:
        answer = ask("GET", "/read/room", **place)
        found.append(answer.read().decode())
        codes.add(answer.status)
        place = {"If_None_Match": answer.headers["Etag"],
                 "If_Modified_Since": answer.headers["Last-Modified"]}
    print(f"{name}:", *codes, "-", *found)
    return place


def stream(name, place):
    answer = ask("GET", "/read/room", Accept="text/event-stream", **place)
    line = b""
    while not line.startswith(b"data:"):
        line = answer.fp.readline()
    print(f"{name}: {answer.status} - {line[6:].decode().strip()} ...")
    answer.close()


write(1, 1)
place = poll("first", {}, "m1")
write(2, 19)
poll("polls", place, "m19")
stream("stream, no id", {})
stream("stream, an id of long ago", {"Last_Event_ID": "1000000000:5"})
PY
# The names that nginx was built with are looked at even where the file names others.
unshare --map-root-user --mount sh -c \
  'mount -t tmpfs none /var/lib && mkdir /var/lib/nginx && exec "$@"' sh \
  "$folder/root/usr/sbin/nginx" -p "$folder/" -c "$folder/nginx.conf" >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null
  then break; fi
  sleep 0.1
done
timeout 40 python3 try.py "$port" | tee seen
cat >expected <<'END'
m1 to m1: 202
first: 200 - m1
m2 to m19: 202
polls: 200 - m10 m11 m12 m13 m14 m15 m16 m17 m18 m19
stream, no id: 200 - m10 ...
stream, an id of long ago: 200 - m10 ...
END
cmp seen expected

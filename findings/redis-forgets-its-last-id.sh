#!/bin/sh
# Redis 7.0.15 (Debian bookworm, 5:7.0.15-1~deb12u10).
#
# Guess: a stream that was emptied begins anew, however it was emptied, and ids follow the clock.
# Seen: `XTRIM MAXLEN 0` keeps the last id, and a lower one is refused. `DEL` forgets it, so an id is
# given twice, for another entry: a client that names places by ids takes one history for the other.
# One entry with an id of the far future moves all later ones there: their ids, and the times that
# are read from them, follow it and not the clock.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download redis-tools=5:7.0.15-1~deb12u10 \
  libjemalloc2=5.3.0-1 liblzf1=3.6-3 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Debian's redis-server is this program by another name.
ln -s "$(pwd)/root/usr/bin/redis-check-rdb" redis-server
export LD_LIBRARY_PATH="$(pwd)/root/usr/lib/$(uname -m)-linux-gnu"
./redis-server --bind 127.0.0.1 --port "$port" --save "" --dir . >server.log 2>&1 &
server=$!
for turn in $(seq 100); do
  if grep -q 'Ready to accept' server.log; then break; fi
  sleep 0.1
done
ask() { root/usr/bin/redis-cli -p "$port" "$@"; }
add() { ask XADD room "$@" 2>&1 | sed 's/^(error) //'; }
{
  echo "first: $(add 5-1 n 1)"
  ask XTRIM room MAXLEN 0 >/dev/null
  echo "trimmed: $(ask XLEN room) left, the same id: $(add 5-1 n 2)"
  ask DEL room >/dev/null
  echo "deleted: the same id: $(add 5-1 n 3)"
  echo "far: $(add 9999999999999-0 n 4)"
  echo "next: $(add '*' n 5)"
} >seen
cat seen
grep -qx 'first: 5-1' seen
grep -q '^trimmed: 0 left, the same id: ERR The ID specified in XADD is equal or smaller' seen
grep -qx 'deleted: the same id: 5-1' seen
grep -qx 'next: 9999999999999-1' seen

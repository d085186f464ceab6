#!/bin/sh
# Redis 7.0.15 (Debian bookworm, 5:7.0.15-1~deb12u10).
#
# Guess: `XTRIM MAXLEN ~ 250` of a stream of 300 entries removes some of the oldest, perhaps not all
# fifty.
# Seen: it removes none. Nodes are removed whole, and one has 100 entries. Up to 99 entries more than
# the bound stay, for as long as nothing is added: a bound of `~` is no date until which something is
# gone. `=` removes exactly fifty.
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
for number in $(seq 300); do echo "XADD room * n $number"; done | ask >added
printf 'about 250: %s removed, %s left\n' "$(ask XTRIM room MAXLEN '~' 250)" "$(ask XLEN room)" >seen
printf 'about 200: %s removed, %s left\n' "$(ask XTRIM room MAXLEN '~' 200)" "$(ask XLEN room)" >>seen
printf 'exactly 150: %s removed, %s left\n' "$(ask XTRIM room MAXLEN = 150)" "$(ask XLEN room)" >>seen
cat seen
grep -qx 'about 250: 0 removed, 300 left' seen
grep -qx 'about 200: 100 removed, 200 left' seen
grep -qx 'exactly 150: 50 removed, 150 left' seen

#!/bin/sh
# The demonstration: a server on this machine, a naive client and Tideline side by side through one
# day, measured on the socket; then the same file from Python. Ends with 0 only when all was right.
# Ends the server and removes its files in any case.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
out=out/demo
lib=$PWD/out/lib
mkdir -p "$out"
server="" work="" lib_build="" server_build=""
finish() {
  code=$?
  trap - EXIT INT TERM HUP
  for build in $lib_build $server_build; do
    kill "$build" 2>/dev/null || true
  done
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  [ -z "$work" ] || rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Both are built side by side; how far each is stands in its last line that begins with [step/steps].
build() { # build LOG TARGET: sets $built to the process
  make --no-print-directory "$2" "JOBS=$jobs" >"$1" 2>&1 &
  built=$!
}
far() { # far LOG: how far a build is
  step=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1) || true
  echo "${step:-[starting]}"
}
finished() { # finished PROCESS LOG WHAT: ends the demonstration where the build failed
  wait "$1" && return
  tail -n 40 "$2"
  echo "demo: $3 could not be built, see $2" >&2
  exit 1
}
if [ -e "$lib/libtideline.so" ] && [ -e out/tideline-server ]; then
  echo "demo: bringing library and server up to date"
else
  echo "demo: building library and server, 2 to 4 minutes on two cores the first time"
fi
build "$out/lib.log" lib && lib_build=$built
build "$out/server-build.log" server && server_build=$built
seconds=0
while kill -0 "$lib_build" 2>/dev/null || kill -0 "$server_build" 2>/dev/null; do
  sleep 1
  seconds=$((seconds + 1))
  [ $((seconds % 15)) != 0 ] ||
    echo "demo: $seconds s, library $(far "$out/lib.log"), server $(far "$out/server-build.log")"
done
finished "$lib_build" "$out/lib.log" "the library"
finished "$server_build" "$out/server-build.log" "the server"
echo "demo: both built after $seconds s; one day is played now, which takes some 15 s"
program=out/tideline-server
gcc -std=c11 -D_DEFAULT_SOURCE -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -O2 -IInclude \
  -o "$out/demo" examples/c/demo.c -L"$lib" -ltideline -Wl,-rpath,"$lib"

work=$(mktemp -d)
# The day is played in seconds, so the server's clock runs ahead of this machine's: it names its
# time in its answers, or stamps ahead of the device's clock would be asked for again. The day is a
# fixed one, which no machine's clock has passed yet: so each run counts the same.
"$program" --tcp-port 0 --ws-port 0 --seed 1 --until 2040-06-01T12:00:00 --server-time \
  --db "$work/server.db" >"$out/server.log" 2>&1 &
server=$!
turn=0
# Until it has written the whole line.
until grep -q '^tideline-server ready' "$out/server.log" &&
  [ -z "$(tail -c 1 "$out/server.log")" ]; do
  turn=$((turn + 1))
  if [ "$turn" -gt 600 ] || ! kill -0 "$server" 2>/dev/null; then
    cat "$out/server.log"
    echo "demo: the server did not come up" >&2
    exit 1
  fi
  sleep 0.1
done
cat "$out/server.log"
port=$(sed -n 's/^tideline-server ready.* tcp=\([0-9]*\).*/\1/p' "$out/server.log")
conversation=$(python3 Scripts/ask.py "$port" eva '{"type":"admin_conversations"}' | python3 -c '
import json, sys
rooms = json.load(sys.stdin)["data"]["conversations"]
print(max(rooms, key=lambda room: room["message_count"])["conversation_id"])')
echo

file=$work/eva.tideline
right=0
"$out/demo" "$port" eva "$conversation" "$file" >"$out/table.txt" || right=$?
cat "$out/table.txt"
sed '/^$/,$d' "$out/table.txt" >"$out/counted.txt"
sed -n '/^```text$/,/^```$/p' README.md | sed '/^```/d' >"$out/shown.txt"
cmp -s "$out/counted.txt" "$out/shown.txt" ||
  { echo; echo "demo: these are not the figures that README.md shows"; right=1; }

# What can be read on disk, in our files and in the server's own plain ones.
newest=$(tail -n 1 "$out/table.txt" | cut -d ' ' -f 3-)
lines() { # lines PATTERN: how many lines of these files hold the message or the id
  find "$work" -name "$1" ! -name '*.key' -exec cat {} + |
    grep -acF -e "$newest" -e "$conversation" || true
}
echo
echo "Lines on disk with the last of these messages or the conversation's id:"
find "$work" -name 'eva.tideline*' ! -name '*.key' -exec cat {} + | wc -c >"$out/bytes.txt"
echo "$(lines 'eva.tideline*') in the $(cat "$out/bytes.txt") bytes of Tideline's file and its log," \
  "$(lines 'server.db*') in the server's plain files"
[ "$(cat "$out/bytes.txt")" -gt 100000 ] || right=1
[ "$(lines 'eva.tideline*')" = 0 ] || right=1
[ "$(lines 'server.db*')" != 0 ] || right=1

echo
echo "The same file, read from Python:"
TIDELINE_LIBRARY=$lib/libtideline.so.1 PYTHONPATH=examples/python/src \
  python3 examples/python/examples/offline.py "$file" eva "$conversation" 3 >"$out/python.txt"
cat "$out/python.txt"
sed -n '/read from C:$/,$p' "$out/table.txt" | sed 1d >"$out/from-c.txt"
grep -v '^page: ' "$out/python.txt" >"$out/from-python.txt"
if [ ! -s "$out/from-c.txt" ] || ! cmp -s "$out/from-c.txt" "$out/from-python.txt"; then
  echo "demo: C and Python do not show the same messages" >&2
  right=1
fi

echo
echo "A year is missed, and a file holds three months:"
TIDELINE_LIBRARY=$lib/libtideline.so.1 PYTHONPATH=examples/python/src \
  python3 examples/python/examples/year.py "$port" eva "$conversation" "$work/year.tideline" ||
  right=1

cat <<'END'

msgs   messages received    reqs        requests sent
sent   bytes written        recv        bytes read, both on the socket, login included
right  what is shown equals the server's own list, read over another connection
missed messages of the newest ones that the situation is about and the client does not show
naive  asks for the newest 50 each time and keeps nothing when it is closed
END
if [ "$right" = 0 ]; then
  echo "demo: every row of Tideline was right"
else
  echo "demo: NOT every row was right" >&2
fi
exit "$right"

#!/bin/sh
# Builds every example and runs it against a server that is started for it: examples.sh FOLDER
# FOLDER holds the library. What an example prints is checked, not only that it ends.
set -eu
lib=$(cd "$1" && pwd)
out=out/examples
rm -rf "$out"
mkdir -p "$out"

# A server that is built already may be named in TIDELINE_SERVER.
server=${TIDELINE_SERVER:-}
if [ -z "$server" ]; then
  echo "examples: building the server"
  make --no-print-directory server ${JOBS:+"JOBS=$JOBS"} >"$out/server-build.log" 2>&1 || {
    tail -n 40 "$out/server-build.log"
    exit 1
  }
  server=out/tideline-server
fi
for name in first quickstart poll window outbox viewport search; do
  gcc -std=c11 -D_DEFAULT_SOURCE -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -O2 -IInclude \
    -o "$out/$name" "examples/c/$name.c" -L"$lib" -ltideline -Wl,-rpath,"$lib"
done
[ -x out/venv/bin/pip ] || python3 -m venv out/venv
out/venv/bin/pip install -q --disable-pip-version-check "examples/python[websocket]"

"$server" --tcp-port 0 --ws-port 0 --seed 7 --messages 3000 --conversations 5 \
  --capability idempotent_send \
  >"$out/server.log" 2>&1 &
running=$!
trap 'kill $running 2>/dev/null || true' EXIT
ready() { sed -n "s/^tideline-server ready.* $1=\([0-9]*\).*/\1/p" "$out/server.log"; }
turn=0
# Until it has written the whole line.
until [ -n "$(ready ws)" ] && [ -z "$(tail -c 1 "$out/server.log")" ]; do
  turn=$((turn + 1))
  if [ "$turn" -gt 300 ] || ! kill -0 $running 2>/dev/null; then
    cat "$out/server.log"
    exit 1
  fi
  sleep 0.1
done
tcp=$(ready tcp) ws=$(ready ws)
admin() { python3 Scripts/ask.py "$tcp" eva "$1"; }
conversation=$(admin '{"type":"admin_conversations"}' | python3 -c \
  'import json,sys; print(json.load(sys.stdin)["data"]["conversations"][0]["conversation_id"])')

want() { # want FILE TEXT
  if ! grep -q -- "$2" "$1"; then
    echo "examples: $1 does not say: $2"
    cat "$1"
    exit 1
  fi
}
for run in 1 2; do
  (cd "$out" && ./first) >"$out/alone-$run.txt"
  want "$out/alone-$run.txt" "^2 known, whole"
done
want "$out/alone-2.txt" "after_ts"
"$out/viewport" >"$out/viewport.txt"
want "$out/viewport.txt" "^message 1485 moved by 0$"
want "$out/viewport.txt" "message 1200 is at line 0$"
[ "$(grep -c 'held to the end' "$out/viewport.txt")" = 2 ] || { cat "$out/viewport.txt"; exit 1; }
file=$out/eva.tideline
"$out/quickstart" "$tcp" eva "$conversation" "$file" >"$out/first.txt"
want "$out/first.txt" "^sync: TL_OK"
want "$out/first.txt" "^page: 20 messages, whole"
admin "{\"type\":\"admin_post\",\"conversation_id\":\"$conversation\",\"count\":3}" >/dev/null
"$out/quickstart" "$tcp" eva "$conversation" "$file" >"$out/second.txt"
want "$out/second.txt" "^sync: TL_OK.* 3 new"
"$out/quickstart" 1 eva "$conversation" "$file" >"$out/offline.txt"
want "$out/offline.txt" "^offline"
want "$out/offline.txt" "^page: 20 messages, whole"

said='"payload":{"text":"Příliš žluťoučký kůň, 我们明天下午见"}'
python3 Scripts/ask.py "$tcp" eva \
  "{\"type\":\"send_message\",\"conversation_id\":\"$conversation\",$said}" >/dev/null
"$out/quickstart" "$tcp" eva "$conversation" "$file" >/dev/null
"$out/search" eva "$file" "明天 zlut" >"$out/search.txt"
want "$out/search.txt" "^hit .*eva: Příliš \[žluťoučký\] kůň, 我们\[明天\]下午见$"
want "$out/search.txt" "^1 hits; 0 messages not in the index"
want "$out/search.txt" "^-> eva: Příliš"

"$out/poll" "$tcp" eva "$conversation" 8 >"$out/poll.txt" &
poll=$!
TIDELINE_LIBRARY=$lib/libtideline.so.1 out/venv/bin/python examples/python/examples/live.py \
  "ws://127.0.0.1:$ws" eva "$conversation" --seconds 8 >"$out/live.txt" &
live=$!
turn=0
until grep -q inserted "$out/poll.txt" && grep -q inserted "$out/live.txt"; do
  turn=$((turn + 1))
  [ "$turn" -gt 70 ] && break
  sleep 0.1
done
admin "{\"type\":\"admin_post\",\"conversation_id\":\"$conversation\",\"count\":1}" >/dev/null
wait $poll
wait $live
for name in poll live; do
  want "$out/$name.txt" "inserted"
  # The message that came while it was watching is an entry of its own.
  [ "$(grep -c inserted "$out/$name.txt")" -ge 2 ] || { cat "$out/$name.txt"; exit 1; }
done
want "$out/live.txt" "^page: 5 messages"
TIDELINE_LIBRARY=$lib/libtideline.so.1 out/venv/bin/python examples/python/examples/offline.py \
  "$file" eva "$conversation" >"$out/python-offline.txt"
want "$out/python-offline.txt" "^page: 10 messages"
# A window: older messages, a jump that leaves a gap, the gap filled, older ones again.
"$out/window" "$tcp" eva "$conversation" uujfuq >"$out/window.txt"
TIDELINE_LIBRARY=$lib/libtideline.so.1 timeout 60 out/venv/bin/python \
  examples/python/examples/window.py "ws://127.0.0.1:$ws" eva "$conversation" \
  --keys uujfuq >"$out/python-window.txt"
for name in window python-window; do
  want "$out/$name.txt" "~~~ gap ~~~"
  want "$out/$name.txt" "at the end"
  want "$out/$name.txt" "^end: [1-9][0-9]* rows"
done
want "$out/window.txt" "^fill: TL_OK"
want "$out/python-window.txt" "^fill: True"
# A chat screen: scrolled back until pages load, a message sent, back to the newest ones.
TIDELINE_LIBRARY=$lib/libtideline.so.1 timeout 60 out/venv/bin/python \
  examples/python/examples/screen.py "$tcp" eva "$conversation" \
  --keys "u u u u u u u u ahoj l q" >"$out/screen.txt"
[ "$(grep -c '^====' "$out/screen.txt")" -ge 9 ] || { cat "$out/screen.txt"; exit 1; }
tail -n 20 "$out/screen.txt" >"$out/screen-end.txt"
want "$out/screen.txt" "^--- 20..-..-.. ---$"
want "$out/screen-end.txt" "^    ahoj"
want "$out/screen-end.txt" "^eva:"
# What the user does: offline, over a restart, and between the messages of others.
"$out/outbox" "$tcp" eva "$conversation" "$out/outbox.tideline" >"$out/outbox.txt"
want "$out/outbox.txt" "^offline: 2 operations"
want "$out/outbox.txt" "^after a restart: 2 operations"
[ "$(grep -c ': sent$' "$out/outbox.txt")" = 2 ] || { cat "$out/outbox.txt"; exit 1; }
[ "$(grep -c '^confirmed: row' "$out/outbox.txt")" = 2 ] || { cat "$out/outbox.txt"; exit 1; }
want "$out/outbox.txt" "eva: .*see you at five"
for server in "" "$tcp eva $conversation"; do
  # shellcheck disable=SC2086
  TIDELINE_LIBRARY=$lib/libtideline.so.1 timeout 60 out/venv/bin/python \
    examples/python/examples/interleaved.py $server >"$out/interleaved.txt"
  want "$out/interleaved.txt" "^interleaved: one state change and two inserts"
done
# Samples in other languages, where they are installed.
samples=0
if command -v rustc >/dev/null 2>&1; then
  rustc -D warnings -O -L "$lib" -C link-arg=-Wl,-rpath,"$lib" -o "$out/rust" examples/rust/sample.rs
  "$out/rust" >"$out/rust.txt"
  samples=$((samples + 1))
fi
if command -v luajit >/dev/null 2>&1; then
  luajit examples/luajit/sample.lua Include/tideline.h "$lib/libtideline.so.1" >"$out/luajit.txt"
  samples=$((samples + 1))
fi
for name in rust luajit; do
  [ -f "$out/$name.txt" ] || { echo "examples: $name is not installed" && continue; }
  want "$out/$name.txt" "^refused: the frame is not JSON$"
  want "$out/$name.txt" '^1 message: jan {"text":"hi"}$'
done
grep -h '^sync:\|^page:' "$out"/first.txt "$out"/second.txt "$out"/offline.txt "$out"/live.txt
echo "examples: $((14 + samples)) passed, 0 failed"

#!/bin/sh
# Fuzzes one target: run.sh frame|stamp SECONDS. Builds it, writes the first
# inputs, and exits with libFuzzer's status; findings stay in .build/fuzz/TARGET.
set -eu

usage() {
  echo "usage: $0 frame|stamp SECONDS" >&2
  exit 2
}

[ $# -eq 2 ] || usage
target=$1
seconds=$2
case $target in
frame) source=Frame.swift ;;
stamp) source=Stamp.swift ;;
*) usage ;;
esac

cd "$(dirname "$0")/../.."
out=$PWD/.build/fuzz/$target
corpus=$out/corpus
mkdir -p "$corpus"

# Each room is a module of its own, as in the package.
flags="-g -O -wmo -swift-version 6 -package-name tideline -parse-as-library
  -sanitize=fuzzer,address -I $out"
printf 'module BaseC { header "%s" export * }\n' "$PWD/Sources/BaseC/include/basec.h" \
  >"$out/module.modulemap"
gcc -std=c11 -g -O2 -c -I Sources/BaseC/include -o "$out/BaseC.o" Sources/BaseC/basec.c
room() {
  # shellcheck disable=SC2086
  swiftc $flags -module-name "$1" -emit-module -emit-module-path "$out/$1.swiftmodule" \
    -emit-object -o "$out/$1.o" Sources/"$1"/*.swift
}
room Base
room Wire
# shellcheck disable=SC2086
swiftc $flags -module-name Fuzz "Tests/Fuzz/$source" "$out/BaseC.o" "$out/Base.o" "$out/Wire.o" -o "$out/fuzz"

# What the mutator should know of the language.
words='"\"type\"" "\"status\"" "\"ok\"" "\"error\"" "\"data\"" "\"messages\"" "\"message_ids\""
  "\"request_id\"" "\"conversation_id\"" "\"message_id\"" "\"sender_id\"" "\"created_at\""
  "\"payload\"" "\"read_by\"" "\"user_id\"" "\"reactions\"" "\"version\"" "\"edited_at\""
  "\"reply_to\"" "\"kind\"" "\"event\"" "\"server_time\"" "\"total_count\"" "\"has_more\""
  "\"next_since\"" "\"get_messages\"" "\"get_deleted_since\"" "\"mark_read\"" "\"message_new\""
  "\"message_edited\"" "\"message_deleted\"" "\"messages_read\"" "\"code\"" "\"rate_limited\""
  "\"retry_after_ms\"" "\"account\"" "\"_control\"" "\"message\"" "\"message\":{" "null" "true"
  "false" "\\ud83d" "\\ude00" "\\u0000" "1e3" "-0.5" "9223372036854775807" "+01:00" "Z" ".123456"
  "2026-02-15T22:15:45" "{}" "[]" "[[[[[[[[" ":60" "\"ref\"" "\"silent\"" "\"action\"" "\"entity\""
  "\"items\":[" "\"update\"" "\"reply\"" "\"command\"" "\"new\"" "\"delete\"" "\"conversation\"" "\"receipt\""
  "\"reaction\"" "\"pin\"" "\"typing\"" "\"member\"" "\"profile\"" "\"profile_id\"" "\"pinned\"" "\"seq\""
  "\"prev_id\"" "\"delivered_by\"" "\"listened_by\"" "\"read_at\"" "\"delivered_at\"" "\"listened_at\""
  "\"has_more_before\"" "\"has_more_after\"" "\"get_changed_since\"" "\"mark_listened\"" "\"message_reacted\""
  "\"message_pinned\"" "\"message_unpinned\"" "\"messages_delivered\"" "\"messages_listened\""
  "\"conversation_updated\"" "\"conversation_deleted\"" "\"send_message\"" "\"edit_message\""
  "\"react_message\"" "\"create_conversation\"" "\"get_conversations\"" "\"get_receipts\""
  "\"get_unread_count\"" "\"subscribe\"" "\"client_id\"" "\"reaction\"" "\"user_ids\""
  "\"participant_ids\"" "\"admin_ids\"" "\"distinct\"" "\"direct\"" "\"channel\"" "\"title\""
  "\"limit\"" "\"offset\"" "\"include_last_message\"" "\"at\"" "\"begin\"" "\"exists\""
  "\"receipts\"" "\"conversations\"" "\"last_message\"" "\"last_read_message_id\""
  "\"unread_count\"" "\"message_count\"" "\"conversation_count\"" "\"mark_delivered\""'
printf '%s\n' "$words" | tr -s ' ' '\n' | grep . > "$out/words"

seed() {
  printf '%s' "$2" > "$corpus/seed-$1"
}
time='2026-02-15T22:15:45'
one='{"message_id":"m","conversation_id":"c","sender_id":"u","created_at":"'$time'","payload":"p"'
more='"version":3,"edited_at":"'$time'.5Z","reply_to":"q","reactions":{"+":["u"]},"pinned":true'
seen='"read_by":[{"user_id":"a"},"b"],"kind":"event","x":[1.5,-2e3,{"k":"\u00e9\ud83d\ude00"}]'
case $target in
frame)
  page='{"type":"get_messages","request_id":"r","status":"ok","data":{"messages":['
  seed page "$page$one},$one,$more,$seen}],\"total_count\":2,\"server_time\":\"$time\"}}"
  seed poison "$page$one},{\"message_id\":7},$one}]}}"
  seed deleted '{"type":"get_deleted_since","status":"ok","data":{"message_ids":["a","b"],"has_more":false}}'
  seed read '{"type":"mark_read","request_id":"r","status":"ok","data":{}}'
  seed error '{"type":"x","status":"error","error":{"code":"rate_limited","retry_after_ms":5}}'
  seed new "{\"account\":\"p\",\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":$one,$seen}}"
  seed edited "{\"type\":\"message_edited\",\"message\":$one,$more}}"
  seed gone '{"type":"message_deleted","conversation_id":"c","message_ids":["a"]}'
  seed seen '{"type":"messages_read","conversation_id":"c","user_id":"u","message_ids":["a"]}'
  seed control '{"a":1,"\u005fcontrol":{}}'
  ids='"conversation_id":"c","message_id":"m"'
  update() {
    seed "update-$1-$2" "{\"account\":\"p\",\"type\":\"update\",\"payload\":{\"ref\":\"r\",\"silent\":true,\"action\":\"$1\",\"payload\":{\"entity\":\"$2\",\"items\":[$3]}}}"
  }
  update new message "$one,\"seq\":7,\"prev_id\":\"l\",\"delivered_by\":[\"a\"]},7"
  update update message "$one,$more,\"listened_by\":[{\"user_id\":\"a\"}]}"
  update delete message "{$ids},{\"conversation_id\":\"d\",\"message_id\":\"n\"},{}"
  update new receipt "{$ids,\"user_id\":\"u\",\"read_at\":\"t\",\"delivered_at\":\"t\"},{$ids,\"user_id\":\"u\",\"listened_at\":\"t\"}"
  update update reaction "{$ids,\"reactions\":{\"+\":[\"u\"]},\"version\":2}"
  update delete reaction "{$ids}"
  update new pin "{$ids,\"pinned\":false}"
  update new typing '{"conversation_id":"c","user_id":"u","event":"begin"}'
  update update conversation '{"conversation_id":"c","title":"T"}'
  update new member '{"conversation_id":"c","user_id":"u"}'
  update delete profile '{"user_id":"u"},{"profile_id":"v"}'
  update new poll '{"a":1}'
  seed broken '{"type":"update","payload":{"ref":"r","action":"new"}}'
  seed changed "{\"type\":\"reply\",\"payload\":{\"type\":\"get_changed_since\",\"status\":\"ok\",\"data\":{\"messages\":[$one}],\"next_since\":\"x\"}}}"
  seed around "$page$one}],\"has_more_before\":true,\"has_more_after\":false}}"
  seed reacted "{\"type\":\"message_reacted\",$ids,\"reactions\":{},\"version\":1}"
  seed pinned "{\"type\":\"message_pinned\",$ids}"
  seed conversation '{"type":"conversation_updated","conversation":{"conversation_id":"c"}}'
  seed readers '["a",{"user_id":"b"},null]'
  seed send '{"type":"send_message","conversation_id":"c","client_id":"k","payload":{"a":1},"reply_to":"m","metadata":{"x":[1]}}'
  seed react '{"type":"react_message","conversation_id":"c","message_id":"m","reaction":"+"}'
  seed create '{"type":"create_conversation","client_id":"k","participant_ids":["a"],"title":"T","distinct":true,"direct":false}'
  seed mark '{"type":"mark_delivered","conversation_id":"c","message_ids":["a","b"]}'
  seed list '{"type":"get_conversations","limit":50,"offset":0,"include_last_message":true}'
  seed type '{"type":"typing","conversation_id":"c","event":"pause","at":"t"}'
  seed users '{"type":"add_admins","conversation_id":"c","user_ids":["a"]}'
  room='"participant_ids":["a"],"admin_ids":["b"],"last_read_message_id":"m","unread_count":3'
  seed rooms "{\"type\":\"get_conversations\",\"status\":\"ok\",\"data\":{\"conversations\":[{\"conversation_id\":\"c\",$room,\"last_message\":$one}},7],\"total_count\":9}}"
  seed sent "{\"type\":\"send_message\",\"status\":\"error\",\"error\":{\"code\":\"exists\",\"message\":\"twice\"},\"data\":{\"message\":$one,\"client_id\":\"k\"}}}"
  seed receipts '{"type":"get_receipts","status":"ok","data":{"receipts":[{"user_id":"u","read_at":"2026-02-15T22:15:45"}]}}'
  seed counts '{"type":"get_unread_count","status":"ok","data":{"message_count":3,"conversation_count":1}}'
  ;;
stamp)
  index=0
  for form in "$time" "$time.1" "$time.123456Z" "$time.123456789+01:00" "$time-0930" "$time+14" \
    '2016-12-31T23:59:60Z' '0001-01-01 00:00:00' '9999-12-31T23:59:59.999999' '2024-02-29T00:00:00'; do
    index=$((index + 1))
    seed $index "ZTIMETIME$form"
  done
  ;;
esac

# The runtime's own crash handler would hide a trap from the fuzzer.
cd "$out"
SWIFT_BACKTRACE=enable=no exec ./fuzz -max_total_time="$seconds" -max_len=4096 -timeout=10 \
  -rss_limit_mb=2048 -dict=words -use_value_profile=1 -print_final_stats=1 corpus

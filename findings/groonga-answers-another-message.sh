#!/bin/sh
# Groonga 13.0.0 (Debian bookworm, 13.0.0+dfsg-3~deb12u1), a store with full-text search.
#
# Guess: a column that refers to a record of a table refers to that record: once it is deleted, it
# refers to none, as it is printed.
# Guess: a reference to a record that is not there is refused, or is empty.
# Guess: -1 in a column of UInt64 is refused.
# Seen: a reference is the number of a record, and the next record gets the number of the deleted
# one. A reply to a deleted message looks like a reply to nothing until the next message comes; then
# it quotes that one. Delete what refers to a message first, or keep the key as a text.
# Seen: a reply to a message that did not come yet makes that message, empty, and it is counted and
# listed as one. -1 becomes 18446744073709551615, which sorts as the newest.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download groonga-bin=13.0.0+dfsg-3~deb12u1 \
  libgroonga0=13.0.0+dfsg-3~deb12u1 liblz4-1 libmsgpackc2 libzstd1 libedit2 libbsd0 libmd0 \
  libtinfo6 libevent-core-2.1-7 libstdc++6 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
GRN_RUBY_SCRIPTS_DIR=$(find "$folder/root" -type d -path '*/groonga/scripts/ruby')
GRN_PLUGINS_DIR=$(find "$folder/root" -type d -path '*/groonga/plugins')
export LD_LIBRARY_PATH GRN_RUBY_SCRIPTS_DIR GRN_PLUGINS_DIR
ask() { root/usr/bin/groonga --config-path /dev/null --log-path log base "$@"; }
root/usr/bin/groonga --config-path /dev/null --log-path log -n base table_create Message \
  TABLE_HASH_KEY ShortText >answers
ask column_create Message text COLUMN_SCALAR Text >>answers
ask column_create Message reply_to COLUMN_SCALAR Message >>answers
ask column_create Message seq COLUMN_SCALAR UInt64 >>answers
put() { ask load --table Message --values "'[$1]'" >>answers; }
show() {
  printf '%s: ' "$1"
  ask select Message --output_columns "$2" --sort_keys "$3" | python3 -c '
import json
import sys

for row in json.load(sys.stdin)[1][0][2:]:
    print("[" + ", ".join(map(str, row)) + "]", end=" ")
print()'
}
{
  put '{"_key": "m1", "text": "shall we meet?"}'
  put '{"_key": "m2", "text": "yes", "reply_to": "m1"}'
  show 'written' '_key,reply_to,reply_to.text' _key
  ask delete Message m1 >>answers
  show 'm1 deleted' '_key,reply_to,reply_to.text' _key
  put '{"_key": "m3", "text": "will you pay?"}'
  show 'm3 came' '_key,reply_to,reply_to.text' _key
  put '{"_key": "m4", "text": "no", "reply_to": "m9"}'
  show 'a reply to m9, which is not there' '_key,text' _key
  put '{"_key": "m5", "seq": -1}'
  show 'the newest first' '_key,seq' -seq,_key
} >seen
cat seen
grep -qx 'written: \[m1, , \] \[m2, m1, shall we meet?\] ' seen
grep -qx 'm1 deleted: \[m2, , \] ' seen
grep -qx 'm3 came: \[m2, m3, will you pay?\] \[m3, , \] ' seen
grep -q '^a reply to m9.*\[m4, no\] \[m9, \] $' seen
grep -q '^the newest first: \[m5, 18446744073709551615\] ' seen

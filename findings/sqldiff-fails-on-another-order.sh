#!/bin/sh
# sqldiff of SQLite 3.40.1 (Debian bookworm: sqlite3-tools and sqlite3, 3.40.1-2+deb12u2).
#
# Guess: the difference of two stores that have the same rows is empty, in whatever order the rows
# came: a table whose key is declared (`id TEXT PRIMARY KEY`, ids as servers give them) is compared
# by that key. The script that it prints makes the one store out of the other.
# Seen: rows are compared by their rowid, which is the order in which a device stored them. Equal
# rooms differ in every row, and the script cannot be applied: it gives one message the id of
# another, and the key is refused. Each line is a statement, so without `--transaction` the rest is
# applied, and one message is missing. `--primarykey` compares by the declared key: equal rooms have
# no difference, and the script for a new message adds it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download sqlite3-tools=3.40.1-2+deb12u2 \
  sqlite3=3.40.1-2+deb12u2 libsqlite3-0=3.40.1-2+deb12u2 libreadline8 libtinfo6 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
sql() { root/usr/bin/sqlite3 "$@"; }
store() {
  base=$1
  shift
  sql "$base" 'CREATE TABLE message(id TEXT PRIMARY KEY, body TEXT)'
  for number; do sql "$base" "INSERT INTO message VALUES('m$number', 'text $number')"; done
}
list() {
  sql "$1" "SELECT group_concat(id || '=' || body, ', ') FROM (SELECT * FROM message ORDER BY id)"
}

store one.db 1 2 3
store same.db 3 1 2
store more.db 4 3 1 2
{
  printf 'the same rows: %s statements\n' "$(root/usr/bin/sqldiff one.db same.db | wc -l)"
  printf 'the same rows, by key: %s statements\n' \
    "$(root/usr/bin/sqldiff --primarykey one.db same.db | wc -l)"
  for way in '' --primarykey; do
    root/usr/bin/sqldiff $way one.db more.db >script.sql
    cp one.db copy.db
    sql copy.db <script.sql 2>errors || true
    printf 'one more %s: %s refused, now %s\n' "$way" \
      "$(grep -c 'UNIQUE constraint failed' errors || true)" "$(list copy.db)"
  done
} | tee seen
grep -qx 'the same rows: 3 statements' seen
grep -qx 'the same rows, by key: 0 statements' seen
grep -qx 'one more : 2 refused, now m1=text 1, m2=text 2, m4=text 4' seen
grep -qx 'one more --primarykey: 0 refused, now m1=text 1, m2=text 2, m3=text 3, m4=text 4' seen

#!/bin/sh
# The storages of examples/storage and what goes wrong with them: storage.sh FOLDER [WORD]
# FOLDER holds the library. WORD is check, errors, lmdb, fleet, failover or bench; without it all of
# them run. ACCOUNTS is for failover: 100 where all run, otherwise 10,000.
set -eu
cd "$(dirname "$0")/.."
lib=$(cd "$1" && pwd) word=${2:-all}
out=out/storage
mkdir -p "$out"
warn="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -IInclude"
pq=$(pkg-config --cflags --libs libpq)
from=examples/storage
# shellcheck disable=SC2086
{
  gcc $warn -o "$out/check_lmdb" $from/check_lmdb.c $from/lmdb.c -llmdb -lpthread
  gcc $warn -o "$out/check_postgres" $from/check_postgres.c $from/postgres.c $pq -lpthread
  gcc $warn -DWITH_LMDB -DWITH_POSTGRES -o "$out/worker" $from/worker.c $from/lmdb.c \
    $from/postgres.c -L"$lib" -ltideline -Wl,-rpath,"$lib" -llmdb $pq -lpthread
  gcc $warn -o "$out/bench" Benchmarks/storages.c $from/lmdb.c $from/postgres.c \
    -L"$lib" -ltideline -Wl,-rpath,"$lib" -llmdb $pq -lpthread
}
folder=$(mktemp -d)
chmod 755 "$folder"
trap 'sh $from/server.sh stop "$folder/server"; rm -rf "$folder"' EXIT
passed=0 failed=0
run() { # run NAME COMMAND...
  name=$1
  shift
  began=$(date +%s)
  if "$@" >"$out/$name.txt" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "--- $name, $(($(date +%s) - began)) s"
  grep -v '^WARNING:\|^FATAL:' "$out/$name.txt" || true
}
where=$(sh $from/server.sh start "$folder/server")
wants() { [ "$word" = all ] || [ "$word" = "$1" ]; }
if wants check; then
  run check-dict env TIDELINE_LIBRARY="$lib/libtideline.so.1" PYTHONPATH=examples/python/src \
    python3 -m tideline.storage_check $from/dict.py:DictStorage
  run check-lmdb "$out/check_lmdb" "$folder/check.mdb"
  run check-postgres "$out/check_postgres" "$where" "sh $from/server.sh crash $folder/server"
fi
if wants errors; then
  run errors-lmdb python3 $from/errors.py "$out/worker" lmdb "$folder/errors.mdb"
  run errors-postgres python3 $from/errors.py "$out/worker" postgres "$where"
fi
if wants lmdb; then
  run fleet-lmdb python3 $from/fleet.py "$out/worker" --storage lmdb --accounts 40 --takeovers 100
fi
if wants fleet; then run fleet python3 $from/fleet.py "$out/worker"; fi
if wants failover; then
  [ "$word" = all ] && accounts=100 workers=4 || accounts=10000 workers=24
  run failover python3 $from/failover.py "$out/worker" --accounts "${ACCOUNTS:-$accounts}" \
    --workers "$workers"
fi
if wants bench; then
  mkdir "$folder/bench"
  run bench "$out/bench" "$folder/bench" "$where"
fi
echo "storage: $passed passed, $failed failed"
[ "$failed" = 0 ]

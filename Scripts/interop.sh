#!/bin/sh
# Adapters on real servers, with faults: interop.sh FOLDER NAME... FOLDER holds the library. All of
# them are run; it fails where one did.
set -eu
cd "$(dirname "$0")/.."
lib=$1
shift
began=$(date +%s) lines="" failed=0
for name in "$@"; do
  log=out/$name/interop.log
  mkdir -p "out/$name"
  sh Scripts/adapted.sh "$name" "$lib" python Tests/Interop/run.py "out/$name/interop" >"$log" 2>&1 ||
    failed=$((failed + 1))
  cat "$log"
  lines="$lines$(tail -n 1 "$log")
"
done
printf '%s' "$lines"
echo "interop: $# servers, $failed failed, $(($(date +%s) - began)) s"
[ "$failed" = 0 ]

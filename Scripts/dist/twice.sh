#!/bin/sh
# Builds the last commit once more, in another folder and from nothing, and compares what was packed
# to the byte: twice.sh FOLDER. FOLDER holds what `make dist` made of that commit.
set -eu
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive HEAD | tar -x -C "$work"
# pack.py asks git for the files of the tests.
git -C "$work" init -q
git -C "$work" add -A
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) make --no-print-directory -C "$work" dist \
  >"$folder.log" 2>&1 || {
  tail -n 40 "$folder.log"
  exit 1
}
cat "$work/out/dist/SHA256SUMS"
diff "$folder/SHA256SUMS" "$work/out/dist/SHA256SUMS"
echo "dist: the same to the byte, twice"

#!/bin/sh
# The library without symbols of debugging is at most 10 MB: size.sh LIBRARY
# Backups of an open file took it 3 kB over ten million bytes, salvages 96 kB and new data keys 51 kB
# more; marks of the log, the check of rows and own work that knows its commit 70 kB; the trace of
# changes, and why a message is not shown, 65 kB;
# clients that rest and data keys on storages 21 kB; a heal that keeps ranges, a check in slices and
# own work that is newer than its file 105 kB.
set -eu
bytes_max=10620000
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip --strip-unneeded -o "$copy" "$1"
bytes=$(wc -c <"$copy")
echo "size: $bytes bytes stripped, of $bytes_max"
[ "$bytes" -le "$bytes_max" ]

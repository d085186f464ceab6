#!/bin/sh
# Many seeds of all worlds: sim-long.sh JOBS SEEDS [FROM]. Without FROM they are seeds nobody has
# tried. Prints where each round began, so that it can be run again, and stops at the first round
# with a failure.
set -eu
jobs=$1
left=$2
# The high bits of a seed say of which worlds it is; the mix sets them.
from=${3:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
while [ "$left" -gt 0 ]; do
  seeds=$((left < 10000 ? left : 10000))
  echo "sim-long: from $from at $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  .build-test/debug/tideline-sim run --seeds "$seeds" --from "$from" --jobs "$jobs" --worlds mix \
    --twice 19
  # A server that keeps a log: worlds of their own, one for twenty of the others.
  .build-test/debug/tideline-sim run --seeds $((seeds / 20 + 1)) --from "$from" --jobs "$jobs" \
    --worlds log --twice 19
  from=$((from + seeds))
  left=$((left - seeds))
done

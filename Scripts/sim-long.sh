#!/bin/sh
# Seeds nobody has tried: sim-long.sh JOBS MINUTES. Prints where each round began, so that a failure
# can be replayed, and stops at the first round with one.
set -eu
jobs=$1
end=$(($(date +%s) + $2 * 60))
while [ "$(date +%s)" -lt "$end" ]; do
  from=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
  echo "sim-long: from seed $from at $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  .build-sim/release/tideline-sim run --seeds 2000 --from "$from" --jobs "$jobs"
done

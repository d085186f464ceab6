#!/bin/sh
# An hour of seeds nobody has tried: sim-long.sh JOBS. Prints where each round began, so that a
# failure can be replayed.
set -eu
jobs=$1
end=$(($(date +%s) + 3600))
while [ "$(date +%s)" -lt "$end" ]; do
  from=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
  echo "sim-long: from seed $from at $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  .build-sim/release/tideline-sim run --seeds 2000 --from "$from" --jobs "$jobs"
done

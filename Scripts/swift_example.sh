#!/bin/sh
# Builds and runs the example in Swift, and checks what it prints: swift_example.sh FOLDER JOBS
# FOLDER holds the library.
set -eu
cd "$(dirname "$0")/.."
lib=$(cd "$1" && pwd)
scratch=.build-swift-example
env -u CC -u CXX TIDELINE_FOLDER="$lib" swift build --package-path examples/swift \
  --scratch-path "$scratch" -j "$2"
mkdir -p out/examples
timeout 60 "$scratch/debug/Sample" >out/examples/swift.txt
passed=0
for line in "refused: the frame is not JSON (TL_E_FRAME), transient: false" \
  "resync: changes after 1000 are not kept any more" \
  'jan: {"text":"hi 3"}' 'eva: {"text":"ahoj"}'; do
  grep -qxF -- "$line" out/examples/swift.txt || {
    echo "swift example: it does not say: $line"
    cat out/examples/swift.txt
    exit 1
  }
  passed=$((passed + 1))
done
# Each change was given once, as it was committed.
[ "$(grep -c '^change .* so far$' out/examples/swift.txt)" -ge 2 ] || exit 1
echo "swift example: $passed passed, 0 failed"

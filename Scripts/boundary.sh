#!/bin/sh
# Compiles and runs the tests of the boundary in C and C++: boundary.sh MODE FOLDER [NAME]
# MODE is release, address, thread or arm64; arm64 needs ROOT and is called by Scripts/arm64.sh. With
# NAME only that one. The last line sums what ran.
set -eu
tests="Tests/Boundary/*.c Tests/Boundary/*.cpp"
mode=$1 lib=$(cd "$2" && pwd)
# The tests leave out what cannot be done with a sanitizer.
told=$mode
out=out/boundary-$mode
mkdir -p "$out"
warn="-D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O1"
link="-Wl,--as-needed -L$lib -ltideline -Wl,-rpath,$lib -lpthread -ldl"
if [ "$mode" = address ]; then
  toolchain=$(python3 Scripts/header.py toolchain)
  cc="$toolchain/clang -fuse-ld=lld -fsanitize=address"
  # The Swift backtracer would otherwise hold on to a crashed process.
  export ASAN_OPTIONS=detect_leaks=1 SWIFT_BACKTRACE=enable=no
  export LSAN_OPTIONS=suppressions=$PWD/Scripts/lsan.supp:print_suppressions=0
elif [ "$mode" = thread ]; then
  toolchain=$(python3 Scripts/header.py toolchain)
  swift=$(dirname "$toolchain")/lib/swift/linux
  cc="$toolchain/clang -fuse-ld=lld -fsanitize=thread"
  link="$link -L$swift -ldispatch -lBlocksRuntime -Wl,-rpath,$swift"
  export TSAN_OPTIONS=suppressions=$PWD/Scripts/tsan.supp SWIFT_BACKTRACE=enable=no
  tests="Tests/Boundary/threads.c Tests/Boundary/frames.c Tests/Boundary/list.c"
elif [ "$mode" = arm64 ]; then
  told=release
  cc="$(python3 Scripts/header.py toolchain)/clang -fuse-ld=lld --target=aarch64-linux-gnu --sysroot=$ROOT"
else
  cc=gcc
fi
[ -z "${3:-}" ] || tests=$(ls Tests/Boundary/"$3".c*)
passed=0 failed=0
for source in $tests; do
  name=$(basename "$source")
  name=${name%.c*}
  compiler=$cc standard=c11
  case $source in
  *.cpp)
    standard=c++17
    compiler=$(printf '%s' "$cc" | sed 's|^gcc|g++|; s|/clang |/clang++ |')
    # A clean root may have a compiler for C alone.
    if ! command -v "${compiler%% *}" >/dev/null 2>&1; then
      echo "$name: not run, ${compiler%% *} is missing"
      continue
    fi
    ;;
  esac
  # shellcheck disable=SC2086
  $compiler -std=$standard $warn -IInclude -o "$out/$name" "$source" $link
  code=0
  TIDELINE_LIBRARY="$lib/libtideline.so.1" TL_TEST_MODE="$told" \
    "$out/$name" >"$out/$name.log" 2>&1 || code=$?
  last=$(tail -n 1 "$out/$name.log")
  p=$(printf '%s' "$last" | sed -n 's/.*[^0-9]\([0-9][0-9]*\) passed, .*/\1/p')
  f=$(printf '%s' "$last" | sed -n 's/.* passed, \([0-9][0-9]*\) failed.*/\1/p')
  [ -n "$p" ] || p=0
  [ -n "$f" ] || f=0
  if [ "$code" != 0 ] && [ "$f" = 0 ]; then f=1; fi
  if [ "$code" != 0 ]; then
    echo "--- $name ($mode) ended with $code"
    head -n 80 "$out/$name.log"
  else
    echo "$last"
  fi
  passed=$((passed + p)) failed=$((failed + f))
done
echo "boundary $mode: $passed passed, $failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# In a clean root, with the packages in /dist and the tests in this folder: in_root.sh SUITE
# Each step says how long it took; the last line is a row for a table.
set -eu
suite=$1
tests=$PWD
fail() {
  echo "try: $suite: not so: $1"
  [ -z "${2:-}" ] || tail -n 40 "$2"
  exit 1
}
now() { date +%s%N; }
since() { echo "$(($(now) / 10000000 - $1 / 10000000))" | sed 's/\(..\)$/.\1/; s/^\./0./'; }
# Runs a program that kills itself, twice in an empty folder: the second finds what the first kept.
kept() { # kept TEXT COMMAND...
  text=$1
  shift
  mkdir -p "$tests/kept"
  (cd "$tests/kept" && rm -f ./* && { "$@" || true; "$@" || true; }) >"$tests/kept.log" 2>&1
  grep -q -- "$text" "$tests/kept.log" || fail "$* keeps its messages" "$tests/kept.log"
}

for name in libsodium libswiftCore libtideline; do
  [ -z "$(find / -xdev -name "$name*" -not -path '/dist/*' -not -path '/tmp/*' 2>/dev/null)" ] ||
    fail "the root has no $name"
done

# From the wheel to a program that keeps messages.
start=$(now)
python3 -m venv "$tests/venv"
"$tests/venv/bin/pip" install -q --no-index --disable-pip-version-check /dist/libtideline-*.whl
kept "^\['hi', 'ahoj'\]" "$tests/venv/bin/python" "$tests/examples/python/examples/keep.py"
wheel=$(since "$start")

# From the tarball to a program in C.
start=$(now)
tar -xzf /dist/tideline-*-linux-*.tar.gz -C /opt
cd /opt/tideline-*
tarball=$PWD
sha256sum --quiet -c SHA256SUMS
export PKG_CONFIG_PATH="$tarball/lib/pkgconfig"
# The flags are words of their own.
# shellcheck disable=SC2046
gcc -std=c11 -o "$tests/first" examples/first.c $(pkg-config --cflags --libs tideline) \
  -Wl,-rpath,"$tarball/lib"
kept after_ts "$tests/first"
from_tarball=$(since "$start")
unset PKG_CONFIG_PATH

# A program asks for a minor version: tideline-0.2.0-linux-x86_64 is of 0.2.
asked=$(basename "$tarball" | sed 's/^tideline-\([0-9]*\.[0-9]*\)\..*/\1/')
by_cmake() { # by_cmake NAME ARGUMENTS...: find_package builds a program that runs
  build=$tests/cmake-$1
  shift
  mkdir -p "$build"
  cat >"$build/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(first C)
find_package(tideline $asked REQUIRED)
add_executable(first $tarball/examples/first.c)
target_link_libraries(first tideline::tideline)
END
  { cmake -S "$build" -B "$build/out" "$@" && cmake --build "$build/out"; } >"$build/log" 2>&1 ||
    fail "CMake builds a program" "$build/log"
  kept after_ts "$build/out/first"
}
by_cmake tarball -DCMAKE_PREFIX_PATH="$tarball"

# The Debian packages, and nothing is left of them when they go.
listed() { find / -xdev -not -path '/tmp/*' -not -path '/var/*' -not -path '/etc/ld.so.cache' | sort; }
listed >"$tests/before"
start=$(now)
dpkg -i /dist/*.deb >"$tests/dpkg.log" 2>&1 || fail "dpkg installs" "$tests/dpkg.log"
# shellcheck disable=SC2046
gcc -std=c11 -o "$tests/second" "$tarball/examples/first.c" $(pkg-config --cflags --libs tideline)
kept after_ts "$tests/second"
kept "^\['hi', 'ahoj'\]" python3 "$tests/examples/python/examples/keep.py"
debian=$(since "$start")
by_cmake debian
dpkg --purge python3-tideline libtideline-dev libtideline1 >"$tests/dpkg.log" 2>&1 ||
  fail "dpkg removes" "$tests/dpkg.log"
listed >"$tests/after"
diff "$tests/before" "$tests/after" >"$tests/diff" || fail "nothing is left" "$tests/diff"

# Two copies of SQLite, and the tests of the boundary.
cd "$tests"
# Each prints a last line that sums; one that ended early prints the line of another test.
count() { # count TITLE COMMAND...: shows what it says; $count is how many passed
  title=$1 log=$tests/count.log
  shift
  "$@" >"$log" 2>&1 || fail "$*" "$log"
  cat "$log"
  count=$(sed -n "\$s/^$title: \([0-9]*\) passed, 0 failed\$/\1/p" "$log")
  [ -n "$count" ] || fail "the last line is of $title, and nothing failed"
}
count "two copies of SQLite" "$tests/venv/bin/python" two_sqlites.py
two=$count
count "boundary release" sh Scripts/boundary.sh release "$tarball/lib"
c=$count
count "python boundary" "$tests/venv/bin/python" Tests/Boundary/run.py
versions=$(python3 -c 'import platform, sqlite3
print(platform.libc_ver()[1], platform.python_version(), sqlite3.sqlite_version, sep=" | ")')
echo "| $suite | $versions | $wheel s | $from_tarball s | $debian s |" \
  "$two | $c | $count |"

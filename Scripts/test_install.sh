#!/bin/sh
# `make install` and `make uninstall` in an empty root, and a program that is built and run against
# what was installed. Needs a built library.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
passed=0 failed=0
expect() { # expect WHAT COMMAND...
  what=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "install: not so: $what"
    tail -n 20 "$work/log"
  fi
}
version=$(sed -n 's/^VERSION := //p' Makefile)
install() { sh Scripts/install.sh .build-rel/release/libtideline.so "$root" "$1" "$version"; }
uninstall() { sh Scripts/uninstall.sh "$root" "$1" "$version"; }
header_version() {
  sed -n 's/^#define TL_VERSION_[MP][A-Z]* //p' Include/tideline.h | paste -sd .
}
python_version() { sed -n 's/^version = "\(.*\)"/\1/p' examples/python/pyproject.toml; }
files() { (cd "$root" && find . ! -type d | LC_ALL=C sort); }
built() { # built PREFIX: what pkg-config says of the installed library builds a program that runs
  prefix=$1
  flags=$(PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root$prefix/lib/pkgconfig" \
    pkg-config --cflags --libs tideline) || return 1
  # pkg-config escapes blanks as a shell does.
  eval "gcc -std=c11 -Wall -Werror -o '$work/first' examples/c/first.c $flags" || return 1
  (cd "$work" && LD_LIBRARY_PATH="$root$prefix/lib" ./first && rm -f first.tideline*)
}

cat >"$work/expected" <<END
./usr/local/include/tideline.h
./usr/local/include/tideline.hpp
./usr/local/include/tideline_json.h
./usr/local/lib/libtideline.so
./usr/local/lib/libtideline.so.$version
./usr/local/lib/libtideline.so.1
./usr/local/lib/pkgconfig/tideline.pc
END
LC_ALL=C sort -o "$work/expected" "$work/expected"
mkdir -p "$root"
expect "the header is of version $version" [ "$(header_version)" = "$version" ]
expect "the Python package is of version $version" [ "$(python_version)" = "$version" ]
expect "it installs" install /usr/local
files >"$work/found"
expect "these files and no others" diff "$work/expected" "$work/found"
expect "a program is built by pkg-config and runs" built /usr/local
expect "the links lead to the library" cmp "$root/usr/local/lib/libtideline.so" \
  "$root/usr/local/lib/libtideline.so.$version"
expect "it installs again over itself" install /usr/local
expect "the user's own files stay" touch "$root/usr/local/lib/other.so"
expect "it uninstalls" uninstall /usr/local
files >"$work/found"
echo ./usr/local/lib/other.so >"$work/expected"
expect "nothing of it is left, and nothing else is gone" diff "$work/expected" "$work/found"
expect "it uninstalls what is not there" uninstall /usr/local
expect "it installs under a prefix with a blank" install "/opt/two words"
expect "a program is built and runs there" built "/opt/two words"
expect "it uninstalls there" uninstall "/opt/two words"
expect "nothing is left there" sh -c "[ -z \"\$(find '$root/opt' ! -type d)\" ]"
echo "install: $passed passed, $failed failed"
[ "$failed" = 0 ]

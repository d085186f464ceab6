#!/bin/sh
# Builds the library for arm64 Linux on another machine and runs the tests of the boundary on it under
# qemu-aarch64: arm64.sh VERSION JOBS FOLDER
# The compiler is this machine's. Debian's arm64 packages bring libc, SQLite, libsodium and Swift's
# runtime; they lie in $ROOTS, which takes 2.2 GB and a mirror of Debian, once.
set -eu
version=$1 jobs=$2 out=$3
roots=${ROOTS:-/var/tmp/tideline-roots}
mirror=${MIRROR:-http://deb.debian.org/debian}
made=.build-arm64
ROOT=$roots/sid-arm64
resources=$ROOT/usr/libexec/swift/lib
export ROOT

if [ ! -e "$ROOT/.whole" ]; then
  rm -rf "$ROOT"
  mkdir -p "$roots"
  echo "arm64: making $ROOT"
  # mmdebstrap reads no settings of this machine's apt; a mirror may need those for fetching.
  apt-config dump | grep '^Acquire::' >"$roots/apt.conf"
  mmdebstrap --variant=extract --architectures=arm64 --aptopt="$roots/apt.conf" \
    --include=g++,libc6-dev,libsodium-dev,libsqlite3-dev,swiftlang sid "$ROOT" "$mirror" \
    >"$roots/sid-arm64.log" 2>&1 || {
    tail "$roots/sid-arm64.log"
    exit 1
  }
  ln -s usr/lib "$ROOT/lib"
  ln -s ../libexec/swift/lib/swift_static "$ROOT/usr/lib/swift_static"
  rm -r "$ROOT/usr/libexec/swift/bin"
  # A compiled module is for one compiler; its interface in text is for all later ones.
  for module in "$resources"/swift*/linux/*.swiftmodule/*.swiftmodule; do
    [ ! -e "${module%.swiftmodule}.swiftinterface" ] || rm "$module"
  done
  touch "$ROOT/.whole"
fi

# Debian's compiler has a clang of its own, and the interfaces need this one's headers.
clang=$(dirname "$(python3 Scripts/header.py toolchain)")/lib/swift/clang
ln -sfn "$clang" "$resources/swift/clang"
ln -sfn "$clang" "$resources/swift_static/clang"

mkdir -p "$made"
sh Scripts/stale.sh "$made"
env -u CC -u CXX TL_CONTAINED="$PWD/$made/link.map" \
  PKG_CONFIG_PATH="$PWD/Scripts/link/contained" swift build -c release --product tideline \
  --static-swift-stdlib --scratch-path "$made" --disable-local-rpath -j "$jobs" \
  --triple aarch64-unknown-linux-gnu --sdk "$ROOT" -Xswiftc -sdk -Xswiftc "$ROOT" \
  -Xswiftc -resource-dir -Xswiftc "$resources/swift_static"
sh Scripts/stage.sh "$made/release/libtideline.so" "$out" "$version"
readelf -hW "$out/libtideline.so" | grep -q AArch64 || {
  echo "arm64: $out/libtideline.so is for another machine"
  exit 1
}
python3 - "$out/libtideline.so" <<'END'
import sys
sys.path.insert(0, "Scripts/dist")
import linked
library = sys.argv[1]
others = linked.needed(library) - linked.GLIBC
if others:
    raise SystemExit("arm64: the library needs " + ", ".join(sorted(others)))
print("arm64: the library needs glibc %d.%d alone" % linked.glibc(library))
END

# The kernel runs arm64 programs by qemu, so that a program can start itself again. Unless it does so
# already, it is told in a namespace of the tests' own (Linux 6.7 or later).
export QEMU_LD_PREFIX="$ROOT"
loader=$ROOT/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1
if "$loader" --version >/dev/null 2>&1; then
  exec sh Scripts/boundary.sh arm64 "$out"
fi
head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
format=":qemu-aarch64:M::$head:$mask:$(command -v qemu-aarch64):F"
export format loader out
exec unshare --user --map-root-user --mount sh -eu -c '
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  printf %s "$format" >/proc/sys/fs/binfmt_misc/register
  "$loader" --version >/dev/null
  exec sh Scripts/boundary.sh arm64 "$out"
'

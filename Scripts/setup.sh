#!/bin/sh
# Installs the Debian packages that are missing, and nothing else; `setup.sh bench` those of the
# benchmarks too, `setup.sh storage` those of the examples of storages, `setup.sh xmpp` those that
# Prosody needs, `setup.sh arm64` those that build and try the library for arm64. Without Swift it says what to install and stops: a compiler is not ours to choose.
set -eu

if ! command -v swift >/dev/null 2>&1; then
  echo "setup: Swift 6.3 or later is needed and was not found." >&2
  echo "setup: install it from https://www.swift.org/install/linux/ and put it on the PATH." >&2
  exit 1
fi

missing=""
need() { # need PACKAGE TEST...
  package=$1
  shift
  if ! "$@" >/dev/null 2>&1; then
    missing="$missing $package"
  fi
}
header() { echo "#include <$1>" | gcc -E - ; }

need gcc command -v gcc
need g++ command -v g++
need libc6-dev header stdlib.h
need binutils command -v nm
need pkg-config command -v pkg-config
need libsqlite3-dev pkg-config --exists sqlite3
need libsodium-dev pkg-config --exists libsodium
need python3 command -v python3
need python3-venv python3 -c 'import ensurepip, venv'

if [ "${1:-}" = bench ]; then
  need strace command -v strace
  need valgrind header valgrind/callgrind.h
  # A row of its own where the system still has it under this name.
  if apt-cache show libsqlcipher0 >/dev/null 2>&1; then
    need libsqlcipher0 test -n "$(/sbin/ldconfig -p | grep libsqlcipher.so.0)"
  fi
fi

if [ "${1:-}" = storage ]; then
  need liblmdb-dev header lmdb.h
  need libpq-dev pkg-config --exists libpq
  need postgresql sh -c 'ls /usr/lib/postgresql/*/bin/initdb'
  need postgresql-client command -v psql
fi

if [ "${1:-}" = xmpp ]; then
  lua() { lua5.4 -e "require '$1'"; }
  need lua5.4 command -v lua5.4
  need lua-bitop lua bit
  need lua-expat lua lxp
  need lua-filesystem lua lfs
  need lua-sec lua ssl
  need lua-socket lua socket
  need lua-dbi-sqlite3 lua dbd.sqlite3
  need faketime sh -c 'ls /usr/lib/*/faketime/libfaketime.so.1'
fi

if [ "${1:-}" = arm64 ]; then
  need mmdebstrap command -v mmdebstrap
  need qemu-user command -v qemu-aarch64
fi

[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: please install these, under the names of this system:$missing" >&2
  exit 1
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "setup: please install as root: apt-get install$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi
echo "setup: installing$missing"
$as_root apt-get update -q
# The list is words without spaces, made above.
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing

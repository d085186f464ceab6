#!/bin/sh
# Installs library, header and pkg-config file: install.sh BUILT DESTDIR PREFIX VERSION
# The library is stripped on the way and must stay within the size that is promised.
set -eu
built=$1 destdir=$2 prefix=$3 version=$4
bytes_max=7340032
lib=$destdir$prefix/lib
install -D -m 644 Include/tideline.h "$destdir$prefix/include/tideline.h"
install -D -m 755 "$built" "$lib/libtideline.so.$version"
strip --strip-unneeded "$lib/libtideline.so.$version"
ln -sf "libtideline.so.$version" "$lib/libtideline.so.1"
ln -sf libtideline.so.1 "$lib/libtideline.so"
mkdir -p "$lib/pkgconfig"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" tideline.pc.in >"$lib/pkgconfig/tideline.pc"
bytes=$(wc -c <"$lib/libtideline.so.$version")
echo "install: $lib/libtideline.so.$version, $bytes bytes stripped"
if [ "$bytes" -gt "$bytes_max" ]; then
  echo "install: that is over $bytes_max bytes" >&2
  exit 1
fi

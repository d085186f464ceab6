#!/bin/sh
# Installs library, headers and pkg-config file: install.sh BUILT DESTDIR PREFIX VERSION
set -eu
built=$1 destdir=$2 prefix=$3 version=$4
lib=$destdir$prefix/lib
for header in tideline.h tideline.hpp tideline_json.h; do
  install -D -m 644 "Include/$header" "$destdir$prefix/include/$header"
done
install -D -m 755 "$built" "$lib/libtideline.so.$version"
strip --strip-unneeded "$lib/libtideline.so.$version"
ln -sf "libtideline.so.$version" "$lib/libtideline.so.1"
ln -sf libtideline.so.1 "$lib/libtideline.so"
mkdir -p "$lib/pkgconfig"
escaped=$(printf '%s' "$prefix" | sed 's/[\\&|]/\\&/g')
sed "s|@PREFIX@|$escaped|; s|@VERSION@|$version|" tideline.pc.in >"$lib/pkgconfig/tideline.pc"
echo "install: $lib/libtideline.so.$version, $(wc -c <"$lib/libtideline.so.$version") bytes"
# The loader finds a library by its cache. A package or a staged root has a cache of its own.
if [ -z "$destdir" ] && [ "$(id -u)" = 0 ]; then
  /sbin/ldconfig
elif [ -z "$destdir" ]; then
  echo "install: where the loader does not look in $lib, set LD_LIBRARY_PATH or link with a run path"
fi

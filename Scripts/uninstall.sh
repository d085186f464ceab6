#!/bin/sh
# Removes what install.sh installed, and nothing else: uninstall.sh DESTDIR PREFIX VERSION
set -eu
destdir=$1 prefix=$2 version=$3
lib=$destdir$prefix/lib
rm -f "$destdir$prefix/include/tideline.h" "$destdir$prefix/include/tideline.hpp" \
  "$destdir$prefix/include/tideline_json.h" \
  "$lib/libtideline.so" "$lib/libtideline.so.1" \
  "$lib/libtideline.so.$version" "$lib/pkgconfig/tideline.pc"
if [ -z "$destdir" ] && [ "$(id -u)" = 0 ]; then
  /sbin/ldconfig
fi

#!/bin/sh
# Lays a freshly built library out as a host finds it: stage.sh BUILT FOLDER VERSION
set -eu
built=$1 folder=$2 version=$3
mkdir -p "$folder"
cp "$built" "$folder/.new"
mv -f "$folder/.new" "$folder/libtideline.so.$version"
ln -sf "libtideline.so.$version" "$folder/libtideline.so.1"
ln -sf libtideline.so.1 "$folder/libtideline.so"

#!/bin/sh
# SwiftPM does not compile a Swift module again where only a C header changed that it imports:
# stale.sh FOLDER removes the objects of such a module from the scratch folder of a build.
set -eu
for folder in "$1"/*/ABI.build; do
  # The first is written where the module is compiled as a whole, the second where file by file.
  for made in "$folder/ABI.d" "$folder/ABI.emit-module.d"; do
    [ -e "$made" ] || continue
    [ -z "$(find Include -newer "$made")" ] || rm -f "$folder"/*.o
  done
done

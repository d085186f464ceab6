#!/bin/sh
# SwiftPM does not compile a Swift module again where only a C header changed that it imports:
# stale.sh FOLDER removes the objects of such a module from the scratch folder of a build.
set -eu
for folder in "$1"/*/ABI.build; do
  [ -e "$folder/ABI.d" ] || continue
  [ -z "$(find Include -newer "$folder/ABI.d")" ] || rm -f "$folder"/*.o
done

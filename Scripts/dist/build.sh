#!/bin/sh
# Builds the self-contained library and packs it: build.sh VERSION JOBS FOLDER. Times in the packages
# are those of the commit, or SOURCE_DATE_EPOCH, so that the same commit gives the same bytes.
set -eu
version=$1 jobs=$2 folder=$3
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
made=.build-dist
mkdir -p "$made"
sh Scripts/stale.sh "$made"
env -u CC -u CXX TL_CONTAINED="$PWD/$made/link.map" PKG_CONFIG_PATH="$PWD/Scripts/link/contained" \
  swift build -c release --product tideline --static-swift-stdlib \
  --scratch-path "$made" --disable-local-rpath -j "$jobs"
strip --strip-unneeded -o "$made/libtideline.so" "$made/release/libtideline.so"
python3 Scripts/dist/settle.py "$made/libtideline.so" "$version"
python3 Scripts/dist/pack.py "$made/libtideline.so" "$made/link.map" "$version" "$folder"

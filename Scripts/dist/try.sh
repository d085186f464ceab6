#!/bin/sh
# Tries the packages beside it in a clean root of a Debian release: try.sh SUITE [FOLDER]
# It needs root, debootstrap and a mirror of Debian for the root itself, which is kept in FOLDER. In
# the root there is no network and no Swift. The last line is a row for a table.
set -eu
suite=$1 folder=${2:-/var/tmp/tideline-roots}
mirror=${MIRROR:-http://deb.debian.org/debian}
here=$(cd "$(dirname "$0")" && pwd)
root=$folder/$suite
(cd "$here" && sha256sum --quiet -c SHA256SUMS)

if [ ! -e "$root/.whole" ]; then
  command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap
  rm -rf "$root"
  mkdir -p "$root"
  echo "try: making $root"
  debootstrap --variant=minbase \
    --include=ca-certificates,cmake,g++,gcc,libc6-dev,make,pkgconf,python3,python3-venv \
    "$suite" "$root" "$mirror" >"$folder/$suite.log" 2>&1 || {
    tail "$folder/$suite.log"
    exit 1
  }
  touch "$root/.whole"
fi

# What is written into the root goes to memory, so that the next try finds it clean.
export root here suite
unshare --mount --net --pid --fork sh -eu -c '
  layer=$(mktemp -d)
  mount -t tmpfs none "$layer"
  mkdir "$layer/upper" "$layer/work" "$layer/root"
  mount -t overlay overlay \
    -o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
  mkdir -p "$layer/root/dist"
  mount --bind -o ro "$here" "$layer/root/dist"
  mount -t proc none "$layer/root/proc"
  mount -t tmpfs none "$layer/root/dev/shm"
  mount -t tmpfs none "$layer/root/tmp"
  ip link set lo up 2>/dev/null || true
  cd "$layer/root/tmp"
  tar -xzf "$here"/tideline-*-tests.tar.gz --strip-components=1
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    chroot "$layer/root" sh -c "cd /tmp && sh in_root.sh $suite"
'

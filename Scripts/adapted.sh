#!/bin/sh
# A private server below out/, and a client that is carried to it by an adapter:
# adapted.sh NAME FOLDER [terminal|python ARGUMENT...]. FOLDER holds the library. The adapter is that
# of examples/NAME; ejabberd is another server of examples/xmpp.
set -eu
cd "$(dirname "$0")/.."
name=$1
lib=$(cd "$2" && pwd)
wish=${3:-}
out=out/$name
environment=$out/venv
case $name in
ejabberd) example=examples/xmpp ;;
*) example=examples/$name ;;
esac

install() { # install REQUIREMENTS: only where they have changed since the last time
  mark=$environment/$(echo "$1" | tr / -)
  if ! cmp -s "$1" "$mark"; then
    [ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
    echo "$name: installing what $1 names"
    "$environment/bin/pip" install -q --disable-pip-version-check -r "$1"
    cp "$1" "$mark"
  fi
}
packages() { # packages NAME...: Debian packages below $out/root, without their services
  [ "$(cat "$out/packages" 2>/dev/null || true)" = "$*" ] && return 0
  echo "$name: unpacking $*"
  rm -rf "$out/root" "$out/package"
  mkdir -p "$out/root" "$out/package"
  (cd "$out/package" && apt-get -o APT::Sandbox::User=root download -q "$@" >/dev/null)
  for package in "$out"/package/*.deb; do dpkg -x "$package" "$out/root"; done
  rm -rf "$out/package"
  echo "$*" >"$out/packages"
}

mkdir -p "$out"
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
[ ! -f "$example/requirements.txt" ] || install "$example/requirements.txt"
# shellcheck source=/dev/null
[ ! -f "$example/setup.sh" ] || . "$example/setup.sh"
export TIDELINE_LIBRARY="$lib/libtideline.so.1"
export PYTHONPATH="$PWD/examples/python/src:$PWD/examples/adapted:$PWD/$example"
case $wish in
terminal)
  install examples/terminal/requirements.txt
  export PYTHONPATH="$PYTHONPATH:$PWD/examples/terminal"
  ;;
python)
  shift 3
  exec "$environment/bin/python" -B "$@"
  ;;
esac
exec "$environment/bin/python" -B examples/adapted/try.py "$out/server" $wish

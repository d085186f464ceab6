#!/bin/sh
# A private server in an environment below out/, and a client that is carried to it by the adapter of
# examples/NAME: adapted.sh NAME FOLDER [terminal|python ARGUMENT...]. FOLDER holds the library.
set -eu
cd "$(dirname "$0")/.."
name=$1
lib=$(cd "$2" && pwd)
wish=${3:-}
out=out/$name
environment=$out/venv

install() { # install REQUIREMENTS: only where they have changed since the last time
  mark=$environment/$(echo "$1" | tr / -)
  if ! cmp -s "$1" "$mark"; then
    [ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
    echo "$name: installing what $1 names"
    "$environment/bin/pip" install -q --disable-pip-version-check -r "$1"
    cp "$1" "$mark"
  fi
}
unpack() { # Prosody's package without its service, which would listen to the world
  rm -rf "$out/prosody" "$out/package"
  mkdir -p "$out/package"
  echo "$name: unpacking prosody"
  (cd "$out/package" && apt-get download -q prosody && dpkg -x prosody_*.deb .)
  mv "$out/package/usr/lib/prosody" "$out/prosody"
  for program in prosody prosodyctl; do
    sed -e "s#^CFG_SOURCEDIR=.*#CFG_SOURCEDIR='$PWD/$out/prosody'#" \
      -e "s#^CFG_PLUGINDIR=.*#CFG_PLUGINDIR='$PWD/$out/prosody/modules/'#" \
      "$out/package/usr/bin/$program" >"$out/prosody/$program"
    chmod +x "$out/prosody/$program"
  done
  rm -rf "$out/package"
}

mkdir -p "$out"
install "examples/$name/requirements.txt"
if [ "$name" = xmpp ]; then
  if command -v prosodyctl >/dev/null 2>&1; then
    TIDELINE_PROSODY=$(dirname "$(command -v prosodyctl)")
  else
    [ -x "$out/prosody/prosodyctl" ] || unpack
    TIDELINE_PROSODY=$PWD/$out/prosody
  fi
  export TIDELINE_PROSODY
fi
export TIDELINE_LIBRARY="$lib/libtideline.so.1"
export PYTHONPATH="$PWD/examples/python/src:$PWD/examples/adapted:$PWD/examples/$name"
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

#!/bin/sh
# The chat client in the terminal: terminal.sh run|test|shots builds what is missing, installs its
# one package into an environment below out/, and starts it. `terminal.sh python ARGUMENT...` runs
# Python with all of it.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
out=out/terminal
environment=$out/venv
wish=$1
shift
mkdir -p "$out"

quietly() { # quietly LOG COMMAND...: says nothing unless it fails
  log=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log"
    exit 1
  }
}
install() { # install REQUIREMENTS: only where they have changed since the last time
  mark=$environment/$(echo "$1" | tr / -)
  if ! cmp -s "$1" "$mark"; then
    [ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
    echo "terminal: installing what $1 names"
    "$environment/bin/pip" install -q --disable-pip-version-check -r "$1"
    cp "$1" "$mark"
  fi
}
if [ ! -e out/lib/libtideline.so.1 ]; then
  echo "terminal: building the library"
  quietly "$out/lib.log" make --no-print-directory lib "JOBS=$jobs"
fi
if [ ! -x out/tideline-server ]; then
  echo "terminal: building the server"
  quietly "$out/server-build.log" make --no-print-directory server "JOBS=$jobs"
fi
install examples/terminal/requirements.txt
export TIDELINE_LIBRARY="$PWD/out/lib/libtideline.so.1"
export TIDELINE_SERVER="$PWD/out/tideline-server"
export PYTHONPATH="$PWD/examples/python/src:$PWD/examples/terminal"
python=$environment/bin/python
case $wish in
run) exec "$python" -m tideline_terminal.demo --server "$TIDELINE_SERVER" --folder "$out/world" "$@" ;;
shots) exec "$python" -m tideline_terminal.screenshots --server "$TIDELINE_SERVER" --folder docs/images "$@" ;;
test)
  install examples/terminal/tests/requirements.txt
  exec "$python" examples/terminal/tests/run.py "$@"
  ;;
python) exec "$python" "$@" ;;
*)
  echo "terminal.sh run|test|shots|python" >&2
  exit 2
  ;;
esac

#!/bin/sh
# A private Synapse from PyPI, in an environment below out/, and a client that is carried to it by
# examples/matrix/adapter.py: matrix.sh FOLDER, which holds the library.
set -eu
cd "$(dirname "$0")/.."
lib=$(cd "$1" && pwd)
out=out/matrix
environment=$out/venv
if ! cmp -s examples/matrix/requirements.txt "$environment/requirements.txt"; then
  [ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
  echo "matrix: installing what examples/matrix/requirements.txt names"
  "$environment/bin/pip" install -q --disable-pip-version-check -r examples/matrix/requirements.txt
  cp examples/matrix/requirements.txt "$environment/requirements.txt"
fi
export TIDELINE_LIBRARY="$lib/libtideline.so.1"
export PYTHONPATH="$PWD/examples/python/src:$PWD/examples/matrix"
exec "$environment/bin/python" -B examples/matrix/try.py "$out/server"

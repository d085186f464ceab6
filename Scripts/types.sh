#!/bin/sh
# The types of the Python package, by mypy in an environment of its own. One version, since each
# complains of other things.
set -eu
cd "$(dirname "$0")/.."
environment=.build/types
if [ ! -x "$environment/bin/mypy" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet mypy==2.4.1
fi
exec "$environment/bin/mypy" --strict --cache-dir "$environment/cache" examples/python/src/tideline

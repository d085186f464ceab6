#!/bin/sh
# The types of the Python package and of the client in the terminal, by mypy, and ruff with its
# defaults, in an environment of their own. One version of each, since each complains of other
# things.
set -eu
cd "$(dirname "$0")/.."
environment=.build/types
if [ ! -x "$environment/bin/ruff" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet mypy==2.4.1 ruff==0.17.5 'websockets>=12'
fi
if ! cmp -s examples/terminal/requirements.txt "$environment/requirements.txt"; then
  "$environment/bin/pip" install --quiet -r examples/terminal/requirements.txt
  cp examples/terminal/requirements.txt "$environment/requirements.txt"
fi
"$environment/bin/ruff" check --quiet --cache-dir "$environment/ruff" examples/python
exec "$environment/bin/mypy" --strict --cache-dir "$environment/cache" \
  examples/python/src/tideline examples/terminal/tideline_terminal

#!/bin/sh
# The demonstration; see examples/README.md once it is there.
set -eu
echo "demo: the demonstration program is not part of this tree" >&2
exit 1

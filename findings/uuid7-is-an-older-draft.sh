#!/bin/sh
# uuid7 0.1.0 (PyPI, module `uuid_extensions`), with uuid-utils 1.2.0.
#
# Guess: a package of this name makes UUIDs of version 7 as RFC 9562 has them: 48 bits of
# milliseconds first. Its ids and those of another library sort together by time.
# Seen: it follows an early draft, with 36 bits of seconds first. `version` is 7 and the variant is
# the right one, so nothing tells them apart. Read by the standard, an id of 2026 says about 2203,
# and sorts after each id that any other library makes until then: one sender's messages stay the
# newest.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install uuid7==0.1.0 uuid-utils==1.2.0 2>pip.log
cat >try.py <<'PY'
import time
import uuid

import uuid_extensions
import uuid_utils

old = uuid_extensions.uuid7()
time.sleep(1.1)
new = uuid.UUID(str(uuid_utils.uuid7()))
clock = time.time()
for name, each in ("uuid7", old), ("uuid-utils", new):
    years = ((each.int >> 80) / 1000 - clock) / 365.25 / 86400
    print(f"{name}: version {each.version} {each.variant}, the standard's time is more than 100 years "
          f"on: {years > 100}, the first 36 bits are seconds: {abs((each.int >> 92) - clock) < 5}")
print("the older id sorts after the newer:", old > new)
PY
venv/bin/python try.py | tee seen
grep -q "^uuid7: version 7 specified in RFC 4122, .* on: True, .* seconds: True$" seen
grep -q "^uuid-utils: version 7 specified in RFC 4122, .* on: False, .* seconds: False$" seen
grep -qx 'the older id sorts after the newer: True' seen

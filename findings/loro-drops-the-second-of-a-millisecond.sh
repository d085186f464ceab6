#!/bin/sh
# Loro 1.17.1 (PyPI, loro), its EphemeralStore: who types, and where each cursor is.
#
# Guess: of one device's two writes to a key the later one wins everywhere, as long as they arrive
# in order: the newest write of the device that owns the key is what the others see.
# Seen: a write has the milliseconds of the wall clock, and only later ones are taken. A second
# write in the same millisecond counts on the device itself, and is passed over by a device that has
# the first: by its update, and by `encode_all` as well, so the two stay apart until the key changes
# again or runs out. "Typing" that is deleted at once, or set and corrected by one handler, is shown
# elsewhere for the whole time-out. Wait for the next millisecond, or write once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install loro==1.17.1 2>pip.log
cat >try.py <<'PY'
import time

from loro import EphemeralStore


def apart(pause, change):
    """Counts keys that differ after two writes, of 1000, each sent in order, and all sent again."""
    here, there = EphemeralStore(60_000), EphemeralStore(60_000)
    updates = []
    held = here.subscribe_local_updates(lambda update: (updates.append(update), True)[1])
    for number in range(1000):
        here.set(f"eva{number}", "typing")
        time.sleep(pause)
        change(here, f"eva{number}")
    for update in updates:
        there.apply(update)
    there.apply(here.encode_all())
    held.unsubscribe()
    return sum(str(here.get(f"eva{number}")) != str(there.get(f"eva{number}"))
               for number in range(1000))


for name, change in (("set", lambda store, key: store.set(key, "away")),
                     ("deleted", lambda store, key: store.delete(key))):
    print(f"{name} at once: more than half differ", apart(0, change) > 500)
    print(f"{name} 2 ms later: differ", apart(0.002, change))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'set at once: more than half differ True' seen
grep -qx 'set 2 ms later: differ 0' seen
grep -qx 'deleted at once: more than half differ True' seen
grep -qx 'deleted 2 ms later: differ 0' seen

#!/bin/sh
# nostr-sdk 0.45.1 (PyPI), its database NostrLmdb.
#
# Guess: a deletion (NIP-09) counts whenever it comes: an event whose deletion is stored already is
# refused with `DELETED`, as one is that was there and was deleted.
# Guess: of a deletion that names several events, those of its own author are deleted, and another's
# event is left alone (NIP-09 leaves it to the reader to compare the authors).
# Seen: a deletion that comes before its event is stored and has no effect: the event is then stored
# and listed. Relays give the newest first, so a first sync meets each deletion before its event,
# and shows what was deleted. By coordinate (tag `a`) the early deletion counts.
# Seen: a deletion that also names another's event is refused as a whole, and deletes nothing; if
# that event is not there yet, the same deletion is taken. So the order decides here, too.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nostr-sdk==0.45.1 2>pip.log
cat >try.py <<'PY'
import asyncio

from nostr_sdk import EventBuilder, Filter, Keys, Kind, NostrLmdb, Tag, Timestamp

EVA, JAN, START = Keys.generate(), Keys.generate(), 1_790_000_000


def event(kind, text, second, *tags, keys=EVA):
    return EventBuilder(Kind(kind), text).custom_created_at(
        Timestamp.from_secs(START + second)).tags([Tag.parse(list(tag)) for tag in tags]).finalize(keys)


def deletion(*targets):
    return event(5, "", 10, *(("e", each.id().to_hex()) for each in targets))


async def case(name, *events):
    """Saves each in this order, and lists what is not a deletion."""
    base = await NostrLmdb.open(name)
    reasons = [(await base.save_event(each)).rejection_reason() for each in events]
    found = await base.query(Filter())
    print(f"{name}: refused", *[each.name for each in reasons if each] or ["nothing"], "listed",
          *sorted(each.content() for each in found if each.content()) or ["nothing"])


async def main():
    text, own, other = event(1, "text", 1), event(1, "own", 2), event(1, "other", 3, keys=JAN)
    page = event(30023, "page", 4, ("d", "page"))
    gone = event(5, "", 10, ("a", f"30023:{EVA.public_key().to_hex()}:page"))
    await case("text, deletion, text", text, deletion(text), text)
    await case("deletion, text", deletion(text), text)
    await case("deletion by coordinate, page", gone, page)
    await case("own, other, deletion of both", own, other, deletion(own, other))
    await case("own, deletion of both, other", own, deletion(own, other), other)

asyncio.run(main())
PY
venv/bin/python try.py | tee seen
grep -qx 'text, deletion, text: refused DELETED listed nothing' seen
grep -qx 'deletion, text: refused nothing listed text' seen
grep -qx 'deletion by coordinate, page: refused DELETED listed nothing' seen
grep -qx 'own, other, deletion of both: refused INVALID_DELETE listed other own' seen
grep -qx 'own, deletion of both, other: refused nothing listed other' seen

#!/bin/sh
# whoosh3 3.54.0 (PyPI; Whoosh, a search engine in Python, maintained anew).
#
# Guess: `update_document` replaces the document with the same unique field, however often it is
# called before `commit`. Of a message and its edits in one batch, a search finds the last one.
# Guess: a time with an offset is indexed as its instant.
# Seen: it replaces only what was committed before. Each edit of one batch stays, so a search finds
# a message by words that were edited away, and lists it twice. A later edit, in a batch of its
# own, replaces one of the copies; the others stay. `delete_by_term` removes nothing of its own
# batch either, and returns 0. `BufferedWriter` replaces as guessed.
# Seen: a time with an offset is indexed by its local hours, so a search for the hour of its
# instant misses it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install whoosh3==3.54.0 2>pip.log
cat >try.py <<'PY'
import datetime
import os

from whoosh.fields import DATETIME, ID, TEXT, Schema
from whoosh.index import create_in
from whoosh.query import DateRange, Every, Term
from whoosh.writing import BufferedWriter

FIELDS = {
    "id": ID(unique=True, stored=True),
    "text": TEXT(stored=True),
    "at": DATETIME(stored=True),
}


def index(name):
    os.mkdir(name)
    return create_in(name, Schema(**FIELDS))


def texts(index, query=None):
    with index.searcher() as searcher:
        found = searcher.search(query or Every(), limit=None)
        return ", ".join(sorted(hit["text"] for hit in found)) or "none"


def edits(writer, *said):
    for text in said:
        writer.update_document(id="m1", text=text)
    return writer


room = index("room")
edits(room.writer(), "at noon", "at one", "at two").commit()
print("one batch:", texts(room))
print("by a word that was edited away:", texts(room, Term("text", "noon")))
edits(room.writer(), "at three").commit()
print("a later edit:", texts(room))
writer = room.writer()
writer.add_document(id="m2", text="gone")
print("deleted in its batch:", writer.delete_by_term("id", "m2"))
writer.commit()
print("found then:", texts(room, Term("id", "m2")))

slow = index("slow")
for text in "at noon", "at one":
    edits(slow.writer(), text).commit()
print("two batches:", texts(slow))
buffered = index("buffered")
edits(BufferedWriter(buffered, period=None), "at noon", "at one").close()
print("BufferedWriter:", texts(buffered))

times = index("times")
writer = times.writer()
zone = datetime.timezone(datetime.timedelta(hours=2))
noon = datetime.datetime(2026, 5, 1, 12, 0, tzinfo=zone)
writer.add_document(id="m1", text="twelve at +02:00", at=noon)
writer.commit()
for hour in 10, 12:
    start = datetime.datetime(2026, 5, 1, hour)
    end = start + datetime.timedelta(minutes=59)
    print(f"from {hour} to {hour + 1}:", texts(times, DateRange("at", start, end)))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'one batch: at noon, at one, at two' seen
grep -qx 'by a word that was edited away: at noon' seen
grep -qx 'a later edit: at one, at three, at two' seen
grep -qx 'deleted in its batch: 0' seen
grep -qx 'found then: gone' seen
grep -qx 'two batches: at one' seen
grep -qx 'BufferedWriter: at one' seen
grep -qx 'from 10 to 11: none' seen
grep -qx 'from 12 to 13: twelve at +02:00' seen

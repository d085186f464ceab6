#!/bin/sh
# tantivy 0.27.0 (PyPI, the Python bindings to Tantivy).
#
# Guess: a date field that is stored with microseconds, as it is given back, is sorted and compared
# with them: `order_by_field` lists the messages of a room by their times.
# Seen: the column that sorts, and the index, cut a date to the second, and the bindings cannot
# choose another unit. The messages of one second are listed in the order in which they were added,
# newest first as well as oldest first. The ends of a range are not cut: from 45.3 s to 46.3 s it
# finds none of 45.5 s, 45.7 s and 45.9 s, and finds one of 46.9 s. Paging by "before this time"
# skips messages. An integer field with microseconds does all of it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install tantivy==0.27.0 2>pip.log
cat >try.py <<'PY'
import datetime

import tantivy

builder = tantivy.SchemaBuilder()
builder.add_text_field("id", stored=True, tokenizer_name="raw")
builder.add_date_field("at", stored=True, indexed=True, fast=True)
builder.add_integer_field("us", indexed=True, fast=True)
schema = builder.build()
index = tantivy.Index(schema)
writer = index.writer(15_000_000, 1)
start = datetime.datetime(2026, 2, 15, 22, 15, 45, tzinfo=datetime.timezone.utc)


def after(tenths):
    return start + datetime.timedelta(milliseconds=100 * tenths)


for tenths in 5, 1, 9, 2, 7, 19:
    writer.add_document(tantivy.Document(id=f"m{tenths}", at=after(tenths), us=100_000 * tenths))
writer.commit()
writer.wait_merging_threads()
index.reload()
searcher = index.searcher()


def show(label, query, **choice):
    hits = searcher.search(query, 9, **choice).hits
    print(f"{label}:", *(searcher.doc(place)["id"][0] for _, place in hits))


every = tantivy.Query.all_query()
place = searcher.search(tantivy.Query.term_query(schema, "id", "m5"), 1).hits[0][1]
print("m5 is given back with", searcher.doc(place)["at"][0].time())
for name, way in ("newest first", tantivy.Order.Desc), ("oldest first", tantivy.Order.Asc):
    show(f"{name}, by the date", every, order_by_field="at", order=way)
    show(f"{name}, by the integer", every, order_by_field="us", order=way)
show("m3 to m13, by the date", tantivy.Query.range_query(
    schema, "at", tantivy.FieldType.Date, after(3), after(13)))
show("m3 to m13, by the integer", tantivy.Query.range_query(
    schema, "us", tantivy.FieldType.Integer, 300_000, 1_300_000))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'm5 is given back with 22:15:45.500000' seen
grep -qx 'newest first, by the date: m19 m5 m1 m9 m2 m7' seen
grep -qx 'newest first, by the integer: m19 m9 m7 m5 m2 m1' seen
grep -qx 'oldest first, by the date: m5 m1 m9 m2 m7 m19' seen
grep -qx 'oldest first, by the integer: m1 m2 m5 m7 m9 m19' seen
grep -qx 'm3 to m13, by the date: m19' seen
grep -qx 'm3 to m13, by the integer: m5 m9 m7' seen

#!/bin/sh
# sifts 1.4.2 (PyPI; full-text search in SQLite or PostgreSQL, with named collections).
#
# Guess: a collection is a set of documents with ids of its own: `Collection("one")` and
# `Collection("two")` in one file may both have a document "7", as servers count messages by room.
# Guess: `update` without `metadatas` changes the text and keeps the metadata, by which `where`
# selects.
# Seen: ids belong to the file. Adding document "7" to the second collection takes it out of the
# first one and replaces its text, without an error: the older message is found nowhere. `delete`
# removes it whichever collection it is called for. `update` is an add: without `metadatas` there
# are none, so an edited message is found by its words, and no more by its words and its sender.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install sifts==1.4.2 2>pip.log
cat >try.py <<'PY'
import sifts

rooms = {name: sifts.Collection(db_url="sqlite:///search.db", name=name)
         for name in ("one", "two")}


def show(label, *query, **choice):
    found = [f"{name}: " + (", ".join(hit["id"] for hit in
                                      room.query(*query, **choice)["results"]) or "nothing")
             for name, room in rooms.items()]
    print(f"{label} -", "; ".join(found))


rooms["one"].add(ids=["7", "8"], contents=["good morning", "good evening"],
                 metadatas=[{"sender": "ada"}, {"sender": "bob"}])
show("added to one, good", "good")
rooms["two"].add(ids=["7"], contents=["good night"])
show("added to two, good", "good")
show("added to two, morning", "morning")
rooms["one"].delete(ids=["7"])
show("deleted in one, night", "night")
show("evening of bob", "evening", where={"sender": "bob"})
rooms["one"].update(ids=["8"], contents=["good evening to all"])
show("edited, evening", "evening")
show("edited, evening of bob", "evening", where={"sender": "bob"})
PY
venv/bin/python try.py | tee seen
grep -qx 'added to one, good - one: 7, 8; two: nothing' seen
grep -qx 'added to two, good - one: 8; two: 7' seen
grep -qx 'added to two, morning - one: nothing; two: nothing' seen
grep -qx 'deleted in one, night - one: nothing; two: nothing' seen
grep -qx 'evening of bob - one: 8; two: nothing' seen
grep -qx 'edited, evening - one: 8; two: nothing' seen
grep -qx 'edited, evening of bob - one: nothing; two: nothing' seen

#!/bin/sh
# Loro 1.17.1 (PyPI, loro).
#
# Guess: a device that started from a shallow snapshot (`ExportMode.ShallowSnapshot`, which leaves
# out the history) refuses an edit that another device made offline before that point, and takes
# everything else. A newer snapshot brings it up to date again.
# Guess: `except Exception` catches what a refused import raises.
# Seen: once such an edit has reached its peer, the device gets nothing from that peer any more: all
# that the peer writes afterwards depends on the edit, and is refused with it. A newer shallow
# snapshot is taken without an error, and changes nothing: the status says "pending", for good. Only
# a new document shows it; what the device itself has not sent is to be exported before that.
# Seen: the error is a plain BaseException, which ends a loop that catches Exception.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install loro==1.17.1 2>pip.log
cat >try.py <<'PY'
from loro import ExportMode, LoroDoc


def add(doc, text):
    doc.get_list("room").push(text)
    doc.commit()


def words(doc):
    return " ".join(doc.get_list("room").get_deep_value())


def shallow(doc):
    return doc.export(ExportMode.ShallowSnapshot(doc.oplog_frontiers))


def ask(label, doc, update):
    try:
        status = doc.import_(update)
        print(f"{label}: taken, pending", status.pending is not None, "-", words(doc))
    except BaseException as error:
        print(f"{label}: {type(error).__name__}, an Exception", isinstance(error, Exception), "-",
              words(doc))


server, offline, phone = LoroDoc(), LoroDoc(), LoroDoc()
for number, doc in enumerate((server, offline, phone), 1):
    doc.peer_id = number  # Concurrent entries are ordered by it.
add(server, "m1")
offline.import_(server.export(ExportMode.Snapshot()))
add(offline, "late")
add(server, "m2")
phone.import_(shallow(server))
add(server, "m3")
ask("before the edit came", phone, server.export(ExportMode.Updates(phone.oplog_vv)))
server.import_(offline.export(ExportMode.Updates(server.oplog_vv)))
add(server, "m4")
ask("after it", phone, server.export(ExportMode.Updates(phone.oplog_vv)))
add(server, "m5")
ask("and one more", phone, server.export(ExportMode.Updates(phone.oplog_vv)))
ask("all of it", phone, server.export(ExportMode.Snapshot()))
ask("a newer shallow snapshot", phone, shallow(server))
ask("a new document", LoroDoc(), shallow(server))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'before the edit came: taken, pending False - m1 m2 m3' seen
grep -qx 'after it: BaseException, an Exception False - m1 m2 m3' seen
grep -qx 'and one more: BaseException, an Exception False - m1 m2 m3' seen
grep -qx 'all of it: BaseException, an Exception False - m1 m2 m3' seen
grep -qx 'a newer shallow snapshot: taken, pending True - m1 m2 m3' seen
grep -qx 'a new document: taken, pending False - m1 m2 m3 late m4 m5' seen

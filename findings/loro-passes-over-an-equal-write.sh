#!/bin/sh
# Loro 1.17.1, beside pycrdt 0.14.13 (PyPI, loro and pycrdt): one map of two devices.
#
# Guess: each `insert` into a map is a write, and it counts against writes that other devices make
# at the same time, as in Yjs. A user who chooses "all" again confirms that choice.
# Seen: Loro writes nothing when `insert` gets the value that the key has already. The version of
# the document stays, and there is nothing to send. So the other device's write always wins, even
# if the first device wrote last. In pycrdt, with the same two clients, the second "all" is a
# write, and it wins. To write a value again, delete the key first, or store a time beside the
# value.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install loro==1.17.1 pycrdt==0.14.13 2>pip.log
cat >try.py <<'PY'
from loro import ExportMode, LoroDoc
from pycrdt import Doc, Map


def loro(change):
    phone, desk = LoroDoc(), LoroDoc()
    phone.peer_id, desk.peer_id = 2, 1
    settings = phone.get_map("room")
    settings.insert("notify", "all")
    phone.commit()
    desk.import_(phone.export(ExportMode.Snapshot()))
    desk.get_map("room").insert("notify", "none")
    desk.commit()
    for number in range(5):
        settings.insert("draft", number)
        phone.commit()
    before = phone.oplog_vv.encode()
    change(settings)
    phone.commit()
    wrote = phone.oplog_vv.encode() != before
    at_desk, at_phone = desk.export(ExportMode.Snapshot()), phone.export(ExportMode.Snapshot())
    desk.import_(at_phone)
    phone.import_(at_desk)
    ends = {doc.get_deep_value()["room"]["notify"] for doc in (phone, desk)}
    return f"wrote {wrote}, both have {' '.join(sorted(ends))}"


def again(settings):
    settings.insert("notify", "all")


def deleted_first(settings):
    settings.delete("notify")
    settings.insert("notify", "all")


def yjs():
    phone, desk = Doc(client_id=2), Doc(client_id=1)
    on_phone, on_desk = phone.get("room", type=Map), desk.get("room", type=Map)
    on_phone["notify"] = "all"
    desk.apply_update(phone.get_update())
    on_desk["notify"] = "none"
    before = phone.get_state()
    on_phone["notify"] = "all"
    wrote = phone.get_state() != before
    at_phone, at_desk = phone.get_update(), desk.get_update()
    phone.apply_update(at_desk)
    desk.apply_update(at_phone)
    return f"wrote {wrote}, both have {' '.join(sorted({on_phone['notify'], on_desk['notify']}))}"


print("Loro, all again:", loro(again))
print("Loro, deleted and all:", loro(deleted_first))
print("pycrdt, all again:", yjs())
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'Loro, all again: wrote False, both have none' seen
grep -qx 'Loro, deleted and all: wrote True, both have all' seen
grep -qx 'pycrdt, all again: wrote True, both have all' seen

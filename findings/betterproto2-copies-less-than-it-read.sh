#!/bin/sh
# betterproto2 0.10.0, beside protobuf 7.36.2 (PyPI), with the same messages. The classes are those
# that betterproto2_compiler 0.10.1 makes.
#
# Guess: fields of a newer sender, which betterproto2 keeps and writes again, are kept by a copy.
# Guess: of a message that comes in two parts the parts are merged, fields of an inner message too;
# that is how protobuf appends a change to a stored message, and the specification requires it.
# Guess: of a `oneof` the member that came last is set, and the other is not.
# Guess: a number that does not fit its field raises.
# Seen: `copy.deepcopy` drops unknown fields, and `==` calls the copy equal; pickle keeps them.
# Seen: the second part of an inner message replaces the first. Both members of a `oneof` are set,
# and written again: another reader sees the voice message, this one a text.
# Seen: 2^64 in a field of 64 bits is written, and read as 0, by either.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install betterproto2==0.10.0 protobuf==7.36.2 2>pip.log
cat >try.py <<'PY'
import copy
import dataclasses
import pickle

import betterproto2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


@dataclasses.dataclass(eq=False, repr=False)
class Sender(betterproto2.Message):
    seen: "int" = betterproto2.field(1, betterproto2.TYPE_INT64)
    name: "str" = betterproto2.field(2, betterproto2.TYPE_STRING)


@dataclasses.dataclass(eq=False, repr=False)
class Entry(betterproto2.Message):
    id: "int" = betterproto2.field(1, betterproto2.TYPE_UINT64)
    sender: "Sender | None" = betterproto2.field(2, betterproto2.TYPE_MESSAGE, optional=True)
    text: "str | None" = betterproto2.field(
        3, betterproto2.TYPE_STRING, optional=True, group="body")
    voice: "bytes | None" = betterproto2.field(
        4, betterproto2.TYPE_BYTES, optional=True, group="body")


def plain_class():
    """The class of protobuf for the same messages."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="chat.proto", package="chat", syntax="proto3")
    sender, entry = file.message_type.add(name="Sender"), file.message_type.add(name="Entry")
    entry.oneof_decl.add(name="body")
    for owner, number, name, of, more in (
            (sender, 1, "seen", kind.TYPE_INT64, {}),
            (sender, 2, "name", kind.TYPE_STRING, {}),
            (entry, 1, "id", kind.TYPE_UINT64, {}),
            (entry, 2, "sender", kind.TYPE_MESSAGE, {"type_name": ".chat.Sender"}),
            (entry, 3, "text", kind.TYPE_STRING, {"oneof_index": 0}),
            (entry, 4, "voice", kind.TYPE_BYTES, {"oneof_index": 0})):
        owner.field.add(name=name, number=number, type=of, label=kind.LABEL_OPTIONAL, **more)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("chat.Entry"))


PlainEntry = plain_class()


def plain(data):
    entry = PlainEntry()
    entry.ParseFromString(data)
    return entry


newer = bytes(Entry(id=7)) + b"\x5a\x05@room"  # Field 11, a text, is not in this program's schema.
entry = Entry.parse(newer)
print("unknown field, written again:", bytes(entry) == newer)
print("pickled:", bytes(pickle.loads(pickle.dumps(entry))) == newer)
print("deep copy:", bytes(copy.deepcopy(entry)) == newer, "equal:", copy.deepcopy(entry) == entry)
print("protobuf, deep copy:", copy.deepcopy(plain(newer)).SerializeToString() == newer)

parts = bytes(Entry(sender=Sender(seen=5))) + bytes(Entry(sender=Sender(name="Ann")))
for label, sender in ("two parts", Entry.parse(parts).sender), ("protobuf", plain(parts).sender):
    print(f"{label}:", sender.seen, sender.name)

both = bytes(Entry(text="hello")) + bytes(Entry(voice=b"sound"))
entry = Entry.parse(both)
print("oneof:", entry.text, entry.voice, "written:", len(bytes(entry)), "of", len(both))
print("protobuf, oneof:", plain(both).WhichOneof("body"))

for value in 2**64 - 1, 2**64:
    data = bytes(Entry(id=value))
    print(f"{value}: read as", Entry.parse(data).id, "protobuf:", plain(data).id)
PY
venv/bin/python try.py | tee seen
grep -qx 'unknown field, written again: True' seen
grep -qx 'pickled: True' seen
grep -qx 'deep copy: False equal: True' seen
grep -qx 'protobuf, deep copy: True' seen
grep -qx 'two parts: 0 Ann' seen
grep -qx 'protobuf: 5 Ann' seen
grep -qx "oneof: hello b'sound' written: 14 of 14" seen
grep -qx 'protobuf, oneof: voice' seen
grep -qx '18446744073709551615: read as 18446744073709551615 protobuf: 18446744073709551615' seen
grep -qx '18446744073709551616: read as 0 protobuf: 0' seen

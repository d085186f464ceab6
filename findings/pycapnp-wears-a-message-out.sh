#!/bin/sh
# pycapnp 2.2.4 (PyPI, Cap'n Proto).
#
# Guess: the limit of 64 MiB that a reader may traverse is one of size: a message below it can be
# read as often as one likes.
# Seen: the limit is spent. Each read of a text, bytes or a list takes its length from it, each time
# again, and nothing fills it up: bytes of 1 MB are read 67 times from a message that is kept, and a
# text of 100 bytes some 645,000 times; then the same call raises. `to_dict` spends it, too; numbers
# cost nothing. A cache of messages that were parsed once passes its tests, and fails after days,
# one message after the other. `traversal_limit_in_words` raises the limit, and a builder
# (`as_builder`) has none.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pycapnp==2.2.4 2>pip.log
cat >message.capnp <<'CAPNP'
@0xd5f1a0c3b2e49687;
struct Message { number @0 :UInt64; text @1 :Text; body @2 :Data; }
CAPNP
cat >try.py <<'PY'
import capnp

schema = capnp.load("message.capnp")


def reads(read, most):
    for count in range(most):
        try:
            read()
        except capnp.KjException as error:
            return f"{count} times, then:" + str(error).split("failed:")[1].split(".")[0]
    return f"{most} times"


large = schema.Message.new_message(number=7, text="hello", body=bytes(1_000_000)).to_bytes()
small = schema.Message.new_message(number=7, text="t" * 100).to_bytes()
with schema.Message.from_bytes(large) as message:
    print("1 MB:", reads(lambda: message.body, 1000))
    print("its number:", reads(lambda: message.number, 1000))
with schema.Message.from_bytes(large) as message:
    print("1 MB by to_dict:", reads(message.to_dict, 1000))
with schema.Message.from_bytes(small) as message:
    print("100 bytes:", reads(lambda: message.text, 1_000_000))
with schema.Message.from_bytes(large, traversal_limit_in_words=1 << 60) as message:
    print("with a higher limit:", reads(lambda: message.body, 1000))
with schema.Message.from_bytes(large) as message:
    built = message.as_builder()
    print("a builder:", reads(lambda: built.body, 1000))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx '1 MB: 67 times, then: Exceeded message traversal limit' seen
grep -qx 'its number: 1000 times' seen
grep -qx '1 MB by to_dict: 67 times, then: Exceeded message traversal limit' seen
grep -qx '100 bytes: 645277 times, then: Exceeded message traversal limit' seen
grep -qx 'with a higher limit: 1000 times' seen
grep -qx 'a builder: 1000 times' seen

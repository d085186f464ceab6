#!/bin/sh
# ssage 1.5.2 (PyPI; messages in the format of age, with a MAC of the private key).
#
# Guess: with `authenticate=True`, each object with the same private key opens each text, whatever
# the object did before: every message carries the salt of its MAC.
# Seen: an object derives the key of the MAC once, from the salt of its first message, made or
# opened. Later messages carry a new salt, and their MAC has the old key. So nobody can open the
# second message of an object after a restart ("Signature mismatch"). Only the object that wrote it
# can, and one whose first message was the same. An object that opened one message refuses later
# messages of other objects, and a new object opens them. A test with one message, or with one
# object, passes. Use each object for one message.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install ssage==1.5.2 2>pip.log
cat >try.py <<'PY'
from ssage import SSAGE

key = SSAGE.generate_private_key()


def device():
    return SSAGE(key, authenticate=True)


def opened(by, text):
    try:
        return by.decrypt(text)
    except ValueError as error:
        return str(error)


phone, desk, other = device(), device(), device()
one, two = phone.encrypt("one"), phone.encrypt("two")
print("by the object that wrote them:", opened(phone, one), "and", opened(phone, two))
print("one, by a new object:", opened(desk, one))
print("two, by that object:", opened(desk, two))
print("two, by a new object:", opened(device(), two))
three = other.encrypt("three")
print("another's, by the object that opened one:", opened(desk, three))
print("another's, by a new object:", opened(device(), three))
PY
timeout 80 venv/bin/python try.py | tee seen
grep -qx 'by the object that wrote them: one and two' seen
grep -qx 'one, by a new object: one' seen
grep -qx 'two, by that object: two' seen
grep -qx 'two, by a new object: Signature mismatch' seen
grep -qx "another's, by the object that opened one: Signature mismatch" seen
grep -qx "another's, by a new object: three" seen

"""Calls of the functions that add, remove and list keys; they are added to those of statuses."""

import pathlib

from tideline import _library as c

from statuses import call, connected, empty, gives
from status_world import MARK
from support import header_sum
from statuses_find import on_client
from statuses_free import existing, opens

ADD, CHANGE, REMOVE = "tl_key_add", "tl_key_change", "tl_key_remove"
READ, ALL, CODE = "tl_keys_read", "tl_client_keys", "tl_key_code"
WRONG = "0" * 29 + "1"


def adding(w, h, shape="struct", **fields):
    """The arguments of an addition of a passphrase that is quick to try."""
    fields = {"kind": 1, "key": f"{MARK} horse", "operations": 1, "memory_bytes": 1 << 20, **fields}
    return getattr(w, shape)(c.Key, **fields), None


def changing(w, h, shape="struct", slot=0, **fields):
    return slot, adding(w, h, shape, **fields)[0]


def full(w):
    client = connected(w)
    for _ in range(7):
        client.key_add(bytes(32))
    return client


def second(w):
    client = connected(w)
    client.key_add(bytes(32))
    return client


on_client(ADD, adding, connected)
on_client(CHANGE, changing, connected)
on_client(REMOVE, lambda w, h: (0,), second)
on_client(ALL, lambda w, h: (w.out(),), connected)
for function, arguments in ((ADD, adding), (CHANGE, changing)):
    gives(function, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
          call(function, connected,
               lambda w, h, arguments=arguments: arguments(w, h, "longer")))
    for words, fields in (("an empty passphrase", {"key": ""}),
                          ("a label over 48 bytes", {"label": MARK * 49}),
                          ("17 operations", {"operations": 17}),
                          ("1 TiB of memory", {"memory_bytes": 1 << 40}),
                          ("an unknown kind", {"kind": 3}),
                          ("a raw key of 31 bytes",
                           {"kind": 0, "key": "x" * 31, "operations": 0, "memory_bytes": 0}),
                          ("operations of a raw key",
                           {"kind": 0, "key": "x" * 32, "memory_bytes": 0})):
        gives(function, "TL_E_INVALID", words,
              call(function, connected, lambda w, h, arguments=arguments, fields=fields:
                   arguments(w, h, **fields)))
    gives(function, "TL_E_CODE", "a code with a typing error",
          call(function, connected, lambda w, h, arguments=arguments: arguments(
              w, h, kind=2, key=WRONG, operations=0, memory_bytes=0)))
gives(ADD, "TL_E_TOO_LARGE", "eight keys are there", call(ADD, full, adding))
gives(CHANGE, "TL_E_NOT_FOUND", "an empty slot",
      call(CHANGE, connected, lambda w, h: changing(w, h, slot=5)))
gives(REMOVE, "TL_E_NOT_FOUND", "an empty slot", call(REMOVE, second, lambda w, h: (5,)))
gives(REMOVE, "TL_E_INVALID", "the last key", call(REMOVE, connected, lambda w, h: (0,)))
for function, make, arguments in (
        (ADD, connected, adding), (CHANGE, connected, changing),
        (REMOVE, second, lambda w, h: (0,))):
    for fault, status in (("the disk cannot be written", "TL_E_STORAGE"),
                          ("the disk is full", "TL_E_FULL")):
        gives(function, status, fault, call(function, make, arguments), fault)
    gives(function, "TL_E_UNSUPPORTED", "a client in memory", call(function, empty, arguments))
gives(ALL, "TL_E_UNSUPPORTED", "a client in memory", call(ALL, empty, lambda w, h: (w.out(),)))


def reads(status, words, before=None, path=None):
    def setup(w):
        if before:
            before(w)
        return w.view(path or w.path), w.out()
    gives(READ, status, words, setup)


def spoil(w, at, *bytes_):
    """Changes both copies of the header of a file."""
    existing(w)
    path = pathlib.Path(w.path)
    data = bytearray(path.read_bytes())
    for copy in (0, 4_096):
        for offset, byte in enumerate(bytes_):
            data[copy + at + offset] = byte
    path.write_bytes(data)


def wiped(w):
    """A file whose deletion was interrupted."""
    client = w.refilled()
    pathlib.Path(w.path + "-kept").hardlink_to(w.path)
    client.wipe()
    pathlib.Path(w.path + "-kept").rename(w.path)


reads("TL_OK", "a file that is open", lambda w: w.refilled())
reads("TL_NONE", "a wiped file", wiped)
opens("TL_E_NOT_FOUND", "what an interrupted wipe has left, and `TL_OPEN_EXISTING`", wiped, flags=2)
reads("TL_E_INVALID", "a path with a NUL", path="\0")
reads("TL_E_NOT_FOUND", "no file")
reads("TL_E_NOT_OURS", "a file of another program",
      lambda w: pathlib.Path(w.path).write_text(MARK * 4_096))
reads("TL_E_DAMAGED", "both copies of its header changed", lambda w: spoil(w, 70, 9))
reads("TL_E_STORAGE", "a path through a link to itself",
      lambda w: pathlib.Path(w.path).symlink_to(w.path))


def later(w):
    """A file of a later version, whose sum fits."""
    existing(w)
    path = pathlib.Path(w.path)
    data = bytearray(path.read_bytes())
    for copy in (0, 4_096):
        data[copy + 8] = 2
        data[copy + 4_064:copy + 4_096] = header_sum(data[copy:copy + 4_064])
    path.write_bytes(data)


reads("TL_E_TOO_NEW", "a file of a later version", later)
gives(CODE, "TL_OK", "an ordinary call", lambda w: (w.out(c.c_uint64 * 5), 40))
gives(CODE, "TL_E_INVALID", "room for 34 bytes", lambda w: (w.out(c.c_uint64 * 5), 34))


def opens_by(status, words, kind, key):
    def setup(w):
        existing(w)
        return w.struct(c.ClientConfig, path=w.path, key=key, user_id=MARK, key_kind=kind), w.out()
    gives("tl_client_open", status, words, setup)


opens_by("TL_E_NO_SLOT", "a passphrase, and the file has a raw key", 1, f"{MARK} horse")
opens_by("TL_E_CODE", "a recovery code with a typing error", 2, WRONG)
opens_by("TL_E_INVALID", "a passphrase over 1,024 bytes", 1, "x" * 1_025)

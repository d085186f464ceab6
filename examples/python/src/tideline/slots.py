"""Who opens a file: keys, passphrases and recovery codes."""

from __future__ import annotations

import ctypes
import dataclasses
import os

from . import _library as c
from ._words import Word
from .errors import Status, check


class KeyKind(Word):
    """What a key is."""

    RAW = 0
    PASSPHRASE = 1
    CODE = 2


@dataclasses.dataclass(frozen=True)
class KeySlot:
    """A key of a file, without the key. ``kind`` is a plain number where a later version wrote
    it."""

    slot: int
    kind: KeyKind | int
    label: str
    operations: int
    memory_bytes: int


Secret = bytes | str
#: ``TL_KEY_CODE_BYTES``.
_CODE_BYTES = 35


def secret_bytes(secret: Secret | None) -> bytes:
    """The bytes of a key; text in UTF-8, as it was typed."""
    return secret.encode() if isinstance(secret, str) else secret or b""


def keys(path: str | os.PathLike[str]) -> tuple[KeySlot, ...]:
    """Lists the keys of a file without opening it; it may be open. None of it is proven before the
    file was opened."""
    text = os.fsencode(path)
    batch = ctypes.c_void_p()
    if check(c.library.tl_keys_read(c.view(text), ctypes.byref(batch))) == Status.NONE:
        return ()
    return _taken(batch)


def recovery_code() -> str:
    """Makes a recovery code to print: six groups of five letters and digits. It opens nothing
    before ``Client.key_add``. Python cannot wipe text, so let go of it soon."""
    out = ctypes.create_string_buffer(_CODE_BYTES)
    try:
        check(c.library.tl_key_code(out, _CODE_BYTES))
        return out.raw.decode()
    finally:
        ctypes.memset(out, 0, _CODE_BYTES)


class Keys:
    """Who opens a client's file."""

    _handle: ctypes.c_void_p

    def keys(self) -> tuple[KeySlot, ...]:
        """Lists the keys of the file."""
        batch = ctypes.c_void_p()
        check(c.library.tl_client_keys(self._handle, ctypes.byref(batch)))
        return _taken(batch)

    def key_add(
        self, key: Secret, kind: KeyKind = KeyKind.RAW, *, label: str = "", operations: int = 0,
        memory_bytes: int = 0,
    ) -> int:
        """Adds a key; gives its slot.

        Args:
            key: 32 random bytes, a passphrase, or a code of ``recovery_code``.
            kind: Which of these it is.
            label: Up to 48 bytes that anybody with the file can read.
            operations: Of Argon2id, for a passphrase; 0: 3; at most 16.
            memory_bytes: Likewise; 0: 64 MiB; 1 MiB to 256 MiB.
        """
        texts = secret_bytes(key), label.encode()
        told = _told(texts, kind, operations, memory_bytes)
        slot = ctypes.c_uint32()
        check(c.library.tl_key_add(self._handle, ctypes.byref(told), ctypes.byref(slot)))
        return slot.value

    def key_change(
        self, slot: int, key: Secret, kind: KeyKind = KeyKind.RAW, *, label: str = "",
        operations: int = 0, memory_bytes: int = 0,
    ) -> None:
        """Puts a key in the place of that in a slot; the old one opens nothing from then on."""
        texts = secret_bytes(key), label.encode()
        told = _told(texts, kind, operations, memory_bytes)
        number = _within(slot, 32, "slot")
        check(c.library.tl_key_change(self._handle, number, ctypes.byref(told)))

    def key_remove(self, slot: int) -> None:
        """Removes a key, but not the last one."""
        check(c.library.tl_key_remove(self._handle, _within(slot, 32, "slot")))


def _told(
    texts: tuple[bytes, bytes], kind: KeyKind, operations: int, memory_bytes: int,
) -> c.Key:
    return c.Key(
        ctypes.sizeof(c.Key), kind, c.view(texts[0]), c.view(texts[1]),
        _within(memory_bytes, 64, "memory_bytes"), _within(operations, 32, "operations"))


def _within(number: int, bits: int, name: str) -> int:
    """A number that C takes as it is; ctypes would take the lowest bits of any other."""
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{name} is {number}, which has no place in {bits} bits")
    return number


def _taken(batch: ctypes.c_void_p) -> tuple[KeySlot, ...]:
    """What a batch of keys says; it is freed."""
    try:
        count = ctypes.c_size_t()
        place = c.library.tl_batch_key_slots(batch, ctypes.byref(count))
        records = (c.KeySlot * count.value).from_address(place) if place else ()
        return tuple(
            KeySlot(
                one.slot, KeyKind(one.kind) if one.kind in (0, 1, 2) else one.kind,
                ctypes.string_at(one.label.data, one.label.size).decode(),
                one.operations, one.memory_bytes)
            for one in records)
    finally:
        c.library.tl_batch_free(batch)

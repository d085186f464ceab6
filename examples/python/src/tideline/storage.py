"""A storage of the host's own, in the place of the file: where sealed bytes live."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from typing import Any

from . import _library as c
from ._words import Word
from .errors import Status

_log = logging.getLogger("tideline")


class Object(Word):
    """``tl_object``: a byte object of a name."""

    MAIN = 0
    LOG = 1
    OWN = 2
    NEXT = 3


class LeaseLost(Exception):
    """Raised by a storage: the caller's number is not the newest any more. Nothing has changed."""


class NoRoom(Exception):
    """Raised by a storage: there is no room."""


class Storage:
    """What a host derives its storage from; see ``tl_storage`` in the header for the contract.

    Each method is called with the name that the client was opened under, and all but ``acquire``
    with the caller's number: where that is not the newest one given for the name, ``LeaseLost`` is
    raised and nothing changes. ``NoRoom`` says that there is none; any other exception is logged
    and counts as an error of the disk. Methods are called from several threads, while the client's
    lock is held, so they never use the client.

    ``python -m tideline.storage_check module:Class`` says whether a storage keeps the contract.
    """

    #: Unsynced writes die with the process.
    buffers = False

    def acquire(self, name: str) -> int:
        """Makes the caller the holder; gives a number greater than all before it."""
        raise NotImplementedError

    def release(self, name: str, fence: int) -> None:
        """Ends being the holder."""
        raise NotImplementedError

    def read(self, name: str, fence: int, object: Object, offset: int, size: int) -> bytes:
        """Reads bytes; fewer only where the object ends."""
        raise NotImplementedError

    def write(self, name: str, fence: int, object: Object, offset: int, data: bytes) -> None:
        """Writes bytes; the object grows where they end behind it."""
        raise NotImplementedError

    def truncate(self, name: str, fence: int, object: Object, size: int) -> None:
        """Makes the object ``size`` bytes long."""
        raise NotImplementedError

    def size(self, name: str, fence: int, object: Object) -> int:
        """The object's size; 0 for one that was never written."""
        raise NotImplementedError

    def sync(self, name: str, fence: int, object: Object) -> None:
        """Makes the object durable."""
        raise NotImplementedError

    def remove(self, name: str, fence: int, object: Object) -> None:
        """Makes the object as if it had never been written."""
        raise NotImplementedError


def table(storage: Storage) -> c.Storage:
    """The storage's methods as functions that C calls; keep it as long as they may be called."""
    def answer(call: Callable[[], Any]) -> int:
        try:
            call()
            return int(Status.OK)
        except LeaseLost:
            return int(Status.LOCKED)
        except NoRoom:
            return int(Status.FULL)
        except Exception:  # noqa: BLE001
            _log.exception("a storage failed")
            return int(Status.STORAGE)

    def who(at: Any) -> tuple[str, int]:
        where = at.contents
        return _text(where.name), where.fence

    def whose(at: Any) -> tuple[str, int, Object]:
        return (*who(at), Object(at.contents.object))

    def acquire(_: object, name: Any, fence: Any) -> int:
        def call() -> None:
            fence[0] = storage.acquire(_text(name.contents))
        return answer(call)

    def release(_: object, at: Any) -> int:
        return answer(lambda: storage.release(*who(at)))

    def read(_: object, at: Any, offset: int, out: int, size: int, got: Any) -> int:
        def call() -> None:
            data = bytes(storage.read(*whose(at), offset, size))
            if len(data) > size:
                raise ValueError(f"{len(data)} bytes were read where {size} were asked for")
            ctypes.memmove(out, data, len(data))
            got[0] = len(data)
        return answer(call)

    def write(_: object, at: Any, offset: int, view: Any) -> int:
        data = ctypes.string_at(view.contents.data, view.contents.size)
        return answer(lambda: storage.write(*whose(at), offset, data))

    def truncate(_: object, at: Any, size: int) -> int:
        return answer(lambda: storage.truncate(*whose(at), size))

    def size_of(_: object, at: Any, out: Any) -> int:
        def call() -> None:
            out[0] = storage.size(*whose(at))
        return answer(call)

    def sync(_: object, at: Any) -> int:
        return answer(lambda: storage.sync(*whose(at)))

    def remove(_: object, at: Any) -> int:
        return answer(lambda: storage.remove(*whose(at)))

    return c.Storage(
        struct_size=ctypes.sizeof(c.Storage), flags=int(storage.buffers),
        acquire=c.StorageAcquire(acquire), release=c.StorageRelease(release),
        read=c.StorageRead(read), write=c.StorageWrite(write),
        truncate=c.StorageTruncate(truncate), size=c.StorageSize(size_of),
        sync=c.StorageSync(sync), remove=c.StorageRemove(remove))


def pointer(storage: Storage | None) -> tuple[c.Storage | None, Any]:
    """The table of a storage, to be kept, and a pointer to it; for none NULL."""
    if storage is None:
        return None, None
    made = table(storage)
    return made, ctypes.pointer(made)


def _text(view: c.View) -> str:
    return ctypes.string_at(view.data, view.size).decode()

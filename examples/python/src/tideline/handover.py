"""One file for several processes, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from . import _library as c
from .errors import LockedError, NotFoundError, Status, check

_T = TypeVar("_T")
#: Not every file system says that a file was closed: it is looked at this often all the same.
LOOK_S = 1.0
#: While another process makes the file it has no name yet that could be watched.
MAKING_S = 0.01


def file_watch(path: str | os.PathLike[str]) -> int:
    """A descriptor that is readable once a process has let go of a file; close it by ``os.close``.
    Get it, then try to open the file; where that raises LockedError, wait for the descriptor, read
    what it has, and try again."""
    text, out = os.fsencode(path), ctypes.c_int32()
    check(c.library.tl_file_watch(c.view(text), ctypes.byref(out)))
    return out.value


def when_free(
    path: str | os.PathLike[str], take: Callable[[], _T], timeout: float | None = None,
) -> _T:
    """Gives what ``take`` gives, which opens the file; waits where another process has it.

    >>> client = tideline.when_free(path, lambda: tideline.Client(path, key, user_id="eva"), 5.0)

    Args:
        timeout: Seconds to wait at most; None for as long as it takes.

    Raises:
        LockedError: Another process had the file all the time.
    """
    ends = None if timeout is None else time.monotonic() + timeout
    watch: int | None = None
    try:
        while True:
            if watch is None:
                with contextlib.suppress(NotFoundError):
                    watch = file_watch(path)
            try:
                return take()
            except LockedError:
                look = MAKING_S if watch is None else LOOK_S
                left = look if ends is None else min(look, ends - time.monotonic())
                if left <= 0:
                    raise
            for ready in select.select([] if watch is None else [watch], [], [], left)[0]:
                os.read(ready, 4_096)
    finally:
        if watch is not None:
            os.close(watch)


@contextlib.contextmanager
def watched(path: bytes, tell: Callable[[], None]) -> Iterator[None]:
    """Calls ``tell`` in the running loop whenever a process has let go of a file."""
    try:
        watch = file_watch(os.fsdecode(path))
    except NotFoundError:
        yield
        return

    def heard() -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(watch, 4_096)
        tell()

    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(watch, heard)
        yield
    finally:
        loop.remove_reader(watch)
        os.close(watch)


class HandOver:
    """Giving the file of a client up, and taking it again; and letting go of all but its lock."""

    _handle: ctypes.c_void_p
    #: Where the file is; None in memory and on a storage.
    _path: bytes | None

    def rest(self) -> bool:
        """Closes the files of a client that waits for nothing, but for their lock: ``advance`` has
        given None. The next call that needs them opens them again. False where nothing was closed,
        as while a backup is under way."""
        return check(c.library.tl_client_rest(self._handle)) == Status.OK

    def release(self) -> bool:
        """Gives the file up, so that another process can open it, and ends the connection. Until
        ``reacquire`` each call that needs the file raises ReleasedError. False where that was done
        before."""
        return check(c.library.tl_client_release(self._handle)) == Status.OK

    def reacquire(self, timeout: float = 0.0) -> bool:
        """Opens the file again as it is now; then report the next connection. Windows and lists go
        on, and their next poll has what others changed. False where it was not given up.

        Args:
            timeout: Seconds to wait at most while another process has the file.

        Raises:
            LockedError: Another process has it. The client stays as it was, as after any failure.
            MismatchError: Another file is there, or an older copy.
        """
        def take() -> bool:
            return check(c.library.tl_client_reacquire(self._handle)) == Status.OK

        if timeout <= 0 or self._path is None:
            return take()
        return when_free(os.fsdecode(self._path), take, timeout)

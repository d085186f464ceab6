"""What can go wrong: one exception for each status of ``tideline.h``."""

from __future__ import annotations

from ._library import library
from ._words import Word


class Status(Word):
    """``tl_status``."""

    OK = 0
    NONE = 1
    IGNORED = 2
    RESYNC = 3
    QUARANTINED = 4
    INVALID = -1
    CLOSED = -2
    STORAGE = -3
    KEY = -4
    TOO_NEW = -5
    DAMAGED = -6
    LOCKED = -7
    NOT_OURS = -8
    FRAME = -9
    TOO_LARGE = -10
    NOT_FOUND = -11
    MISMATCH = -12
    UNSUPPORTED = -13
    OFFLINE = -14
    TIMEOUT = -15
    REFUSED = -16
    UNAVAILABLE = -17
    CANCELLED = -18
    INCOMPLETE = -19
    FULL = -20
    NO_SLOT = -21
    CODE = -22
    RELEASED = -23
    INTERNAL = -99

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later without a change."""
        return bool(library.tl_status_is_transient(int(self)))


class TidelineError(Exception):
    """A call failed. ``status`` says how; the text holds no key, path, id or message text."""

    def __init__(self, status: Status, text: str) -> None:
        # The arguments as they were given: `pickle` and `copy` make the error anew of them.
        super().__init__(status, text)
        self.status = status

    def __str__(self) -> str:
        return f"{self.args[1]} ({library.tl_status_name(int(self.status)).decode()})"

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later without a change."""
        return self.status.is_transient


class InvalidError(TidelineError, ValueError):
    """An argument breaks the documented contract."""


class ClosedError(TidelineError):
    """The client was closed."""


class StorageError(TidelineError):
    """SQLite or the file system refused."""


class WrongKeyError(TidelineError):
    """This key does not open the file."""


class NoSlotError(WrongKeyError):
    """The file has no key of this kind."""


class CodeError(WrongKeyError):
    """A recovery code with a typing error; nothing was tried."""


class ReleasedError(TidelineError):
    """The file was given up by ``Client.release``; nothing changed."""


class TooNewError(TidelineError):
    """The file is from a later version."""


class DamagedError(TidelineError):
    """Stored bytes were changed or lost."""


class LockedError(TidelineError):
    """The file is open elsewhere."""


class NotOursError(TidelineError):
    """The file is not a Tideline file."""


class FrameError(TidelineError):
    """The frame is not a valid frame; nothing changed."""


class TooLargeError(TidelineError):
    """Over a documented limit; nothing changed."""


class NotFoundError(TidelineError, LookupError):
    """No such message, conversation, sync or file."""


class MismatchError(TidelineError):
    """The file belongs to another account or user."""


class UnsupportedError(TidelineError):
    """Not in this version, or not by this server."""


class OfflineError(TidelineError):
    """Not connected; the cache has what there is."""


class RefusedError(TidelineError):
    """The ``seal`` hook failed; nothing was kept."""


class IncompleteError(TidelineError):
    """It ended too early; more may come."""


class FullError(TidelineError):
    """The disk is full, or too much waits; nothing changed."""


class ResyncError(TidelineError):
    """Changes that were not read are not kept any more. ``change_seq`` is where to go on once all
    that is needed was read anew."""

    def __init__(self, status: Status, text: str, change_seq: int = 0) -> None:
        super().__init__(status, text)
        self.change_seq = change_seq


class InternalError(TidelineError):
    """A broken invariant. The client is now closed."""


_BY_STATUS: dict[Status, type[TidelineError]] = {
    Status.INVALID: InvalidError,
    Status.CLOSED: ClosedError,
    Status.INCOMPLETE: IncompleteError,
    Status.STORAGE: StorageError,
    Status.KEY: WrongKeyError,
    Status.TOO_NEW: TooNewError,
    Status.DAMAGED: DamagedError,
    Status.LOCKED: LockedError,
    Status.NOT_OURS: NotOursError,
    Status.FRAME: FrameError,
    Status.TOO_LARGE: TooLargeError,
    Status.NOT_FOUND: NotFoundError,
    Status.MISMATCH: MismatchError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.OFFLINE: OfflineError,
    Status.REFUSED: RefusedError,
    Status.FULL: FullError,
    Status.NO_SLOT: NoSlotError,
    Status.CODE: CodeError,
    Status.RELEASED: ReleasedError,
    Status.INTERNAL: InternalError,
}


# Asking an enumeration for its member takes as long as a short call of the library.
_STATUSES = {status.value: status for status in Status}


def last_error() -> str:
    """Why the last call on this thread failed, or gave IGNORED or QUARANTINED; or empty."""
    reason: bytes = library.tl_last_error()
    return reason.decode()


def check(code: int) -> Status:
    """Gives a status that is a success, and raises the exception of one that is not."""
    status = _STATUSES.get(code)
    if status is None:
        status = Status(code)
    if code >= 0:
        return status
    raise _BY_STATUS.get(status, TidelineError)(status, last_error())

"""Enumerations whose members print as words, and times as ``datetime``."""

from __future__ import annotations

import datetime
import enum

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Word(enum.IntEnum):
    """A number of the header that prints as its name in lower case: ``str(Phase.OFFLINE)`` is
    ``offline``."""

    def __str__(self) -> str:
        return self.name.lower()

    def __format__(self, form: str) -> str:
        return format(str(self), form) if not form or form[-1] in "s<>^0123456789" else format(
            int(self), form)


class Words(enum.IntFlag):
    """Flags of the header that print as their names in lower case, such as ``mine|unread``."""

    def __str__(self) -> str:
        names = [one.name.lower() for one in type(self) if one in self and one.name]
        return "|".join(names)

    def __format__(self, form: str) -> str:
        return format(str(self), form) if not form or form[-1] in "s<>^0123456789" else format(
            int(self), form)


def moment(us: int | None) -> datetime.datetime | None:
    """Microseconds since 1970 as a time in UTC; None where there is none (0 or None), or where it
    is before the year 1 or after the year 9999."""
    if not us:
        return None
    try:
        return _EPOCH + datetime.timedelta(microseconds=us)
    except OverflowError:
        return None

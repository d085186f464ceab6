"""Times as the protocol prints them."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime, timedelta, timezone

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?"
    r"(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?")
_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclasses.dataclass(frozen=True)
class Stamp:
    """A time and how it was printed. A time without a zone is read as UTC."""

    us: int
    #: Digits of a second behind the point.
    digits: int
    #: Whether the text names its zone.
    zoned: bool
    #: Whether it has no seconds, as Java prints times whose seconds are zero.
    short: bool = False


def parse(text: object) -> Stamp | None:
    """The time that a text prints, None where it prints none."""
    match = _FORM.fullmatch(text) if isinstance(text, str) and len(text) <= 64 else None
    if match is None:
        return None
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    second = int(match.group(6) or 0)
    fraction, zulu, sign, hours, minutes = match.groups()[6:]
    try:
        when = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
    except ValueError:
        return None
    us = (when - _START) // timedelta(microseconds=1)
    us += int(((fraction or "") + "000000")[:6]) if second < 60 else 999_999
    if sign:
        east = (int(hours) * 60 + int(minutes or 0)) * (1 if sign == "+" else -1)
        us -= east * 60_000_000
    return Stamp(us, len(fraction or ""), bool(zulu or sign), match.group(6) is None)

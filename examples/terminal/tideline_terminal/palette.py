"""Colours, and how small things are written."""

from __future__ import annotations

import zlib
from datetime import date, datetime, timedelta, timezone

GROUND = "#12161f"
PANEL = "#171c27"
RAISED = "#222a3a"
SELECTED = "#263149"
TEXT = "#d7dde8"
SOFT = "#8b95a8"
FAINT = "#515b6e"
ACCENT = "#5cc8b0"
WARNING = "#e6b450"
ERROR = "#f07178"
MINE = "#82aaff"
TRUSTED, UNVERIFIED, MISSING = "#2fa37c", "#e6b450", "#3a4356"
_NAMES = ("#f78c6c", "#c792ea", "#7fd1e0", "#ffcb6b", "#a5d66f", "#ff8fb2", "#9fb4ff", "#d9a67a")

REACTIONS = ("👍", "🎉", "😂", "👀", "🙏")


def colour_of(name: str) -> str:
    """The same colour for the same person on every run."""
    return _NAMES[zlib.adler32(name.encode()) % len(_NAMES)]


def local(time_us: int) -> datetime:
    """A server time where the reader is."""
    return datetime.fromtimestamp(time_us / 1_000_000, timezone.utc).astimezone()


def clock(time_us: int) -> str:
    """Hours and minutes; nothing for what has no time yet."""
    return local(time_us).strftime("%H:%M") if time_us > 0 else ""


def day_title(day: date, today: date) -> str:
    """A day as people name it."""
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.strftime('%A')}, {day.day} {day.strftime('%B')}{year}"


def short_time(time_us: int, today: date) -> str:
    """When a conversation was active, in at most six columns."""
    if time_us <= 0:
        return ""
    moment = local(time_us)
    if moment.date() == today:
        return moment.strftime("%H:%M")
    if today - moment.date() < timedelta(days=7):
        return moment.strftime("%a")
    if moment.year == today.year:
        return f"{moment.day} {moment.strftime('%b')}"
    return moment.strftime("%Y")


def size(count: int) -> str:
    """Bytes for people."""
    if count < 1_000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1_000:.1f} kB"
    return f"{count / 1_000_000:.1f} MB"

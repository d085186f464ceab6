"""What a probe has found: facts for the profile, and findings for people."""

from __future__ import annotations

import dataclasses
import enum

from ..values import Ties, Truncates


class Level(enum.Enum):
    """How much a finding matters."""

    #: Breaks the protocol: messages are lost, doubled or shown wrongly.
    FAULT = "fault"
    #: Allowed, and lost on a client that does not know it.
    TRAP = "trap"
    #: How it is, and nothing to worry about.
    SEEN = "seen"
    #: Could not be found out, and why.
    UNKNOWN = "not found out"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that was found. ``name`` is the same for the same thing, in every run."""

    level: Level
    name: str
    text: str


@dataclasses.dataclass
class Facts:
    """What the profile is made of. ``None`` and ``UNKNOWN`` are what was not found out."""

    order_is_time: bool | None = None
    ties: Ties = Ties.UNKNOWN
    truncates: Truncates = Truncates.UNKNOWN
    after_inclusive: bool | None = None
    page_cap: int | None = None
    sizes_vary: bool | None = None
    resolution_us: int | None = None
    printed_us: int | None = None
    zone_min: int | None = None
    late_ms: int = 0
    counts_hidden: bool | None = None
    unknown_frames: bool | None = None
    deletions_later: bool | None = None
    #: "device" or "connection" where only that may repeat a send, and for how many seconds.
    idempotency: str = ""
    idempotency_s: int = 0
    #: Capabilities by name: whether the server has it.
    can: dict[str, bool] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Report:
    """All that was found. Each name comes once: the first finding of a name counts."""

    facts: Facts = dataclasses.field(default_factory=Facts)
    findings: list[Finding] = dataclasses.field(default_factory=list)

    def add(self, level: Level, name: str, text: str) -> None:
        """Notes a finding, unless its name is there already."""
        if not any(known.name == name for known in self.findings):
            self.findings.append(Finding(level, name, text))

    def fault(self, name: str, text: str) -> None:
        self.add(Level.FAULT, name, text)

    def trap(self, name: str, text: str) -> None:
        self.add(Level.TRAP, name, text)

    def seen(self, name: str, text: str) -> None:
        self.add(Level.SEEN, name, text)

    def unknown(self, name: str, text: str) -> None:
        self.add(Level.UNKNOWN, name, text)

    def of(self, level: Level) -> list[Finding]:
        """The findings of one level."""
        return [found for found in self.findings if found.level is level]

    def names(self, *levels: Level) -> set[str]:
        """The names of the findings of these levels."""
        return {found.name for found in self.findings if found.level in levels}

    def text(self, name: str) -> str:
        """What the finding of a name says, empty where there is none."""
        return next((found.text for found in self.findings if found.name == name), "")

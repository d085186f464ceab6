"""The profile that fits what was seen, as literals, and what the adapter declares otherwise."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any

from ..values import Capabilities, IdempotencyScope, Profile, Ties, Truncates
from .findings import Level, Report
from .link import load

_CAPABILITIES = {one.name.lower(): one for one in Capabilities if one.name}
#: Members of the profile by their flag in C.
_FLAGS = {
    "page_size_varies": "TL_PROFILE_PAGE_SIZE_VARIES",
    "absence_is_deletion": "TL_PROFILE_ABSENCE_IS_DELETION",
    "push_lossless": "TL_PROFILE_PUSH_LOSSLESS",
    "counts_hidden": "TL_PROFILE_COUNTS_HIDDEN",
    "unknown_frames": "TL_PROFILE_UNKNOWN_FRAMES",
    "deletions_later": "TL_PROFILE_DELETIONS_LATER",
    "order_not_time": "TL_PROFILE_ORDER_NOT_TIME",
    "others_edit": "TL_PROFILE_OTHERS_EDIT",
}
#: Members of the profile that are one of several words.
_CHOICES: dict[str, type[enum.Enum]] = {
    "truncates": Truncates, "ties": Ties, "idempotency_scope": IdempotencyScope}
_DEFAULT_LIMIT = 50
_OVERLAP_MS = 5_000


def fit(report: Report) -> Profile:
    """The profile of what was found; what was not found out keeps its default."""
    facts = report.facts
    capabilities = Capabilities(0)
    for name, one in _CAPABILITIES.items():
        if facts.can.get(name):
            capabilities |= one
    cap = facts.page_cap or 0
    coarse = (facts.resolution_us or 0) > (facts.printed_us or 0)
    return Profile(
        page_limit=cap if 0 < cap < _DEFAULT_LIMIT else 0,
        truncates=facts.truncates, ties=facts.ties, page_size_varies=bool(facts.sizes_vary),
        time_resolution_us=facts.resolution_us or 0 if coarse else 0,
        overlap_ms=2 * facts.late_ms if 2 * facts.late_ms > _OVERLAP_MS else 0,
        zone_offset_min=facts.zone_min or 0, capabilities=capabilities,
        counts_hidden=bool(facts.counts_hidden), deletions_later=bool(facts.deletions_later),
        order_not_time=facts.order_is_time is False and not facts.can.get("sequence"),
        idempotency_scope=IdempotencyScope[(facts.idempotency or "account").upper()],
        idempotency_s=facts.idempotency_s)


def declared(words: str) -> Profile:
    """A profile from ``module:NAME``, or from words: capabilities, flags, and ``name=value``."""
    if ":" in words:
        found = load(words)
        if not isinstance(found, Profile):
            raise TypeError(f"{words} is no tideline.Profile")
        return found
    members: dict[str, Any] = {}
    capabilities = Capabilities(0)
    numbers = [field.name for field in dataclasses.fields(Profile)
               if field.name not in {"capabilities", *_FLAGS, *_CHOICES}]
    for word in words.replace(",", " ").split():
        name, _, value = word.partition("=")
        if word in _CAPABILITIES:
            capabilities |= _CAPABILITIES[word]
        elif word in _FLAGS:
            members[word] = True
        elif name in _CHOICES and value.upper() in _CHOICES[name].__members__:
            members[name] = _CHOICES[name][value.upper()]
        elif name in numbers and value.lstrip("-").isdecimal():
            members[name] = int(value)
        else:
            raise ValueError(
                f"{word!r} is nothing that a profile has. Capabilities: "
                f"{', '.join(_CAPABILITIES)}. Flags: {', '.join(_FLAGS)}. With a value: "
                + ", ".join([f"{one}={'|'.join(kind.__members__).lower()}"
                             for one, kind in _CHOICES.items()] + [f"{one}=N" for one in numbers]))
    return Profile(capabilities=capabilities, **members)


def _set(profile: Profile) -> Iterator[tuple[str, object]]:
    """The members that differ from their default."""
    for field in dataclasses.fields(Profile):
        value = getattr(profile, field.name)
        if value != field.default:
            yield field.name, value


def _capability_names(capabilities: Capabilities) -> list[str]:
    return [name for name, one in _CAPABILITIES.items() if one in capabilities]


def python_literal(profile: Profile) -> str:
    """The profile as Python."""
    parts = []
    for name, value in _set(profile):
        if isinstance(value, Capabilities):
            text = " | ".join(f"tideline.Capabilities.{one.upper()}"
                              for one in _capability_names(value))
        elif isinstance(value, enum.Enum):
            text = f"tideline.{type(value).__name__}.{value.name}"
        else:
            text = repr(value)
        parts.append(f"{name}={text}")
    return f"tideline.Profile({', '.join(parts)})"


def c_literal(profile: Profile) -> str:
    """The profile as C."""
    parts = [".struct_size = sizeof(tl_profile)"]
    flags = [_FLAGS[name] for name, value in _set(profile) if name in _FLAGS and value]
    if flags:
        parts.append(f".flags = {' | '.join(flags)}")
    for name, value in _set(profile):
        if isinstance(value, Capabilities):
            names = (f"TL_SERVER_{one.upper()}" for one in _capability_names(value))
            parts.append(f".capabilities = {' | '.join(names)}")
        elif isinstance(value, Truncates):
            parts.append(f".truncates = TL_TRUNCATES_{value.name}")
        elif isinstance(value, Ties):
            parts.append(f".ties = TL_TIES_{value.name}")
        elif isinstance(value, IdempotencyScope):
            parts.append(f".idempotency_scope = TL_IDEMPOTENCY_{value.name}")
        elif name not in _FLAGS:
            parts.append(f".{name} = {value}")
    return f"(tl_profile){{{', '.join(parts)}}}"


def differences(report: Report, profile: Profile) -> list[str]:
    """What the adapter declares and was seen otherwise, or could declare and does not."""
    facts, found = report.facts, fit(report)
    out = []
    for name, one in _CAPABILITIES.items():
        seen = facts.can.get(name)
        if seen is False and one in profile.capabilities:
            out.append(f"declares {name}, and it is not there")
        elif seen and one not in profile.capabilities:
            out.append(f"has {name}, and does not declare it")
    for name, unknown in (("truncates", Truncates.UNKNOWN), ("ties", Ties.UNKNOWN)):
        said, seen_end = getattr(profile, name), getattr(found, name)
        if said != unknown and seen_end != unknown and said != seen_end:
            out.append(f"declares {name} {said.name.lower()}, and it is {seen_end.name.lower()}")
    for name, known in (("page_size_varies", facts.sizes_vary),
                        ("counts_hidden", facts.counts_hidden),
                        ("deletions_later", facts.deletions_later),
                        ("order_not_time", found.order_not_time or None)):
        if known is not None and getattr(profile, name) != known:
            out.append(f"declares {name} {getattr(profile, name)}, and it is {known}")
    if facts.page_cap and (profile.page_limit or _DEFAULT_LIMIT) > facts.page_cap:
        out.append(f"asks {profile.page_limit or _DEFAULT_LIMIT} a page, and at most "
                   f"{facts.page_cap} come")
    if profile.time_resolution_us and facts.printed_us and facts.resolution_us \
            and profile.time_resolution_us < facts.resolution_us:
        out.append(f"declares a resolution of {profile.time_resolution_us} us, and it is "
                   f"{facts.resolution_us}")
    if facts.zone_min is not None and profile.zone_offset_min != facts.zone_min:
        out.append(f"declares times {profile.zone_offset_min} minutes east of UTC, and they are "
                   f"{facts.zone_min}")
    if facts.late_ms >= (profile.overlap_ms or _OVERLAP_MS):
        out.append(f"asks {profile.overlap_ms or _OVERLAP_MS} ms again, and messages came "
                   f"{facts.late_ms} ms late")
    if IdempotencyScope.CONNECTION >= found.idempotency_scope > profile.idempotency_scope:
        out.append(f"declares idempotency_scope {profile.idempotency_scope.name.lower()}, and a "
                   f"send is known on one {facts.idempotency} alone")
    if facts.idempotency_s and not 0 < profile.idempotency_s <= facts.idempotency_s:
        out.append(f"declares idempotency_s {profile.idempotency_s}, and a send is forgotten "
                   "within 130 s")
    if profile.push_lossless and {"pushes", "pushes-order"} & report.names(Level.TRAP):
        out.append("declares push_lossless, and pushes were missing or in another order")
    return out

"""What a server can do beyond offsets, how it refuses, and its clock: checks that only read."""

from __future__ import annotations

import functools
import itertools
import math
import statistics

from .findings import Report
from .room import Page, Room, Row
from .stamp import Stamp, parse
from .talk import Answer, Manner, Tally

_NOWHERE = "tideline-probe-nowhere"


def _middle(room: Room) -> Row | None:
    """A row with others of its time, else any, from the middle of the list."""
    rows = room.rows[len(room.rows) // 4:-2]
    for early, late in itertools.pairwise(rows):
        if early.us == late.us:
            return late
    return rows[len(rows) // 2] if rows else None


def _lacks(room: Room, name: str, answer: Answer) -> bool:
    """Whether the server says that it lacks a capability."""
    room.report.facts.can[name] = answer.ok
    if answer.ok:
        return False
    if answer.code not in ("unsupported", "silence"):
        room.report.trap(f"{name}-refused", f"{name}: refused with {answer.code!r}. What a server "
                         "lacks it answers `unsupported`")
    else:
        room.report.seen(name, f"{name}: not there")
    return True


def _is_ignored(room: Room, page: Page, name: str) -> bool:
    """Whether a page from the middle is the newest one."""
    newest = [row.id for row in room.rows[-len(page.ids):]]
    if not page.ids or page.ids != newest or len(room.rows) < 2 * len(newest) + 4:
        return False
    room.report.fault("place-ignored", f"{name} is ignored, and the newest page is given: what is "
                      "not there is answered `unsupported`, or what lies between is lost")
    return True


def before(room: Room) -> None:
    """``before_ts`` and ``before_id``."""
    report, target = room.report, _middle(room)
    if target is None:
        report.unknown("before", "before: there are too few messages")
        return
    answer = room.ask(5, before_ts=target.printed)
    if _lacks(room, "before", answer):
        return
    if report.facts.order_is_time is False:
        report.unknown("before", "what before_ts selects: the order of pages is not that of times")
        return
    page = room.read(answer, 5)
    older = [row.id for row in room.rows if row.us < target.us]
    if page is None or _is_ignored(room, page, "before_ts"):
        return
    if page.ids and page.ids == older[-len(page.ids):] or not page.ids and not older:
        report.seen("before", "before: before_ts selects what is older, the newest of it")
    elif any(row.us == target.us for row in page.rows):
        report.fault("before-inclusive", "before_ts gives messages at its own time: it selects "
                     "those before it, never at it, and a page beside the edge is no neighbour")
    elif page.ids:
        report.fault("before-wrong", "before_ts does not give the newest of what is older: what "
                     "lies between is never asked for")
    else:
        report.fault("before-wrong", f"before_ts gives nothing, and {len(older)} are older")
    _before_id(room, target, len(older))


def _before_id(room: Room, target: Row, older: int) -> None:
    report = room.report
    limit = 5
    page = room.page(limit, before_ts=target.printed, before_id=target.id)
    place = room.index(target.id)
    if page is None or place is None:
        report.fault("before-id", "before_id beside before_ts is refused: a group of one time that "
                     "is larger than a page cannot be read")
        return
    wanted = [row.id for row in room.rows[:place]]
    if page.ids != wanted[-len(page.ids):] or not page.ids and wanted:
        lost = "its own message" if target.id in page.ids else "others than the newest of these"
        report.fault("before-id", f"before_id gives {lost}: it adds those of its time that stand "
                     "before it, and too few leave a hole that nobody looks for")
    nobody = room.page(limit, before_ts=target.printed, before_id=_NOWHERE)
    here = {row.id for row in room.rows if row.us == target.us}
    if nobody is None or not here & set(nobody.ids):
        report.fault("before-id-unknown", "a before_id that is not there selects too few: it "
                     "selects all of the time's messages")


def around(room: Room) -> None:
    """``around_id`` and ``around_ts``."""
    report, target = room.report, _middle(room)
    if target is None:
        report.unknown("around", "around: there are too few messages")
        return
    answer = room.ask(5, None, around_id=target.id)
    if _lacks(room, "around", answer):
        return
    page = room.read(answer, 5)
    if page is None or _is_ignored(room, page, "around_id"):
        return
    if target.id not in page.ids:
        report.fault("around-without-target", "around_id gives a page that does not hold its "
                     "message: a jump to it never ends")
    elif not _is_run(room, page):
        report.fault("page-holes", "around_id gives a page that is no run of neighbours")
    else:
        report.seen("around", "around: around_id gives a page with its message")
    for name, end, beyond in (("has_more_before", 0, room.rows[0].id),
                              ("has_more_after", -1, room.rows[-1].id)):
        said = page.data.get(name)
        if isinstance(said, bool) and page.ids and room.whole and said == (page.ids[end] == beyond):
            report.fault("has-more-wrong", f"{name} is {str(said).lower()}, and it is not so")
    timed = room.page(5, None, around_ts=target.printed)
    first = next(row for row in room.rows if row.us >= target.us)
    if report.facts.order_is_time and (timed is None or first.id not in timed.ids):
        report.fault("around-ts", "around_ts gives a page without the first message at or after "
                     "its time")
    if room.ask(5, None, around_id=_NOWHERE).code not in ("not_found", "closed", "raised"):
        report.fault("around-unknown", "around_id of a message that does not exist is not "
                     "`not_found`: a deleted message is looked for again and again")


def _is_run(room: Room, page: Page) -> bool:
    start = room.index(page.ids[0]) if page.ids else None
    ids = [row.id for row in room.rows]
    return start is not None and ids[start:start + len(page.ids)] == page.ids


def since(room: Room) -> None:
    """Whether deletions and changes can be asked for at all."""
    report = room.report
    printed = room.rows[-1].printed if room.rows else "2026-01-01T00:00:00"
    first, cursors = room.cursors.get("deleted_since", printed), room.cursors
    answer = room.talk.ask("get_deleted_since", conversation_id=room.id, since=first)
    if answer.code == "unknown_cursor" and not cursors:
        report.fault("deletions-cursor", "get_deleted_since knows no time, and pages name no "
                     "`deleted_since`: nothing deleted is ever told, and each sync reads anew what "
                     "it has. Name the server's own cursor in each page")
    elif not answer.ok:
        report.fault("deletions-refused", f"get_deleted_since is answered {answer.code!r}: every "
                     "server needs it")
    elif not isinstance(answer.data.get("message_ids"), list):
        report.fault("answer-malformed", "data of get_deleted_since has no list `message_ids`")
    if cursors:
        report.seen("cursors", f"pages name cursors of their own: {', '.join(sorted(cursors))}")
    answer = room.talk.ask("get_changed_since", conversation_id=room.id,
                           since=cursors.get("changed_since", printed))
    if not _lacks(room, "changed_since", answer):
        report.seen("changed_since", "changed_since: get_changed_since is there")
        if not isinstance(answer.data.get("next_since"), str):
            report.fault("changed-cursor", "get_changed_since gives no next_since: what to ask the "
                         "next time is not known")


def refusals(room: Room, read_only: bool) -> None:
    """What is unknown is refused, and not taken for empty."""
    report = room.report
    answer = room.talk.ask("get_messages", conversation_id=_NOWHERE, limit=5, offset=0)
    if answer.ok:
        report.trap("unknown-conversation", "a conversation that does not exist is answered as an "
                    "empty one: one that was deleted stays on the screen. Answer `not_found`")
    if not read_only:
        answer = room.talk.ask("tideline_probe", conversation_id=room.id)
        if answer.ok or answer.code not in ("unsupported", "silence"):
            report.trap("unknown-verb", f"a verb that does not exist is answered "
                        f"{answer.code or 'ok'!r}: answer `unsupported`")


def times(room: Room, manner: Manner) -> None:
    """How times are printed, and how the clock stands."""
    report, facts = room.report, room.report.facts
    stamps = room.stamps
    if not stamps:
        report.unknown("times", "how times are printed: no message was seen")
        return
    digits = max(stamp.digits for stamp in stamps)
    facts.printed_us = 10 ** (6 - min(digits, 6))
    distinct = len({stamp.us for stamp in stamps})
    facts.resolution_us = functools.reduce(math.gcd, (stamp.us for stamp in stamps), 1_000_000)
    if facts.resolution_us > facts.printed_us and distinct >= 4:
        report.trap("resolution", f"created_at is printed with {digits} digits and never finer "
                    f"than {facts.resolution_us} us: it needs time_resolution_us")
    else:
        facts.resolution_us = facts.printed_us
        report.seen("resolution", f"created_at is printed to {facts.printed_us} us")
    if any(stamp.short for stamp in stamps):
        report.trap("time-short", "some times have no seconds, as Java prints those whose seconds "
                    "are zero: hand the server's text on, do not parse and print it")
    if not all(stamp.zoned for stamp in stamps) and any(stamp.zoned for stamp in stamps):
        report.fault("zones-mixed", "some times name their zone and some do not")
    _clock(room, manner)


def _clock(room: Room, manner: Manner) -> None:
    report, facts = room.report, room.report.facts
    told = parse(room.talk.ask("get_messages", conversation_id=room.id, limit=1,
                               offset=0).data.get("server_time"))
    stamp: Stamp | None = told or (room.server_time[-1][0] if room.server_time else None)
    now_us = int(manner.clock() * 1e6)
    when = now_us if told else int(room.server_time[-1][1] * 1e6) if room.server_time else now_us
    if stamp is None:
        report.unknown("clock", "the server's clock: no server_time, and nothing was sent")
        return
    ahead_s = (stamp.us - when) / 1e6
    quarters = round(ahead_s / 900)
    if not stamp.zoned and quarters and abs(ahead_s - quarters * 900) < 60 and abs(quarters) < 96:
        facts.zone_min = quarters * 15
        report.trap("zone", f"times name no zone and are {facts.zone_min} minutes east of UTC: it "
                    "needs zone_offset_min")
        return
    facts.zone_min = 0
    if abs(ahead_s) > 86_400:
        report.fault("clock", f"the server's clock is {ahead_s / 86_400:+.1f} days off this one's")
    elif abs(ahead_s) > 60:
        report.trap("clock", f"the server's clock is {ahead_s:+.0f} s off this one's: nothing "
                    "rests on it, but a horizon of deletions does")
    else:
        report.seen("clock", f"the server's clock is {ahead_s:+.1f} s off this one's"
                    + ("" if told else ", by what was sent; no server_time is told"))


def manners(report: Report, tally: Tally) -> None:
    """Whether requests are answered, echoed, and how soon."""
    for verb, count in sorted(tally.silent.items()):
        some = tally.answered.get(verb, 0)
        report.fault("unanswered", f"{verb} was not answered {count} of {count + some} times: "
                     "each request waits for a time-out, and then the host is asked to reconnect")
    if tally.bare and tally.echoed:
        report.fault("echo-sometimes", f"request_id is echoed {tally.echoed} times and left out "
                     f"{tally.bare} times")
    elif tally.bare:
        report.trap("ids-not-echoed", "request_id is not echoed: one request at a time is sent, "
                    "and after a time-out the host is asked to reconnect")
    elif tally.echoed:
        report.seen("ids-echoed", "request_id is echoed")
    if tally.foreign:
        report.facts.unknown_frames = True
        report.trap("unknown-frames", "frames of types that the protocol does not have: "
                    + ", ".join(sorted(tally.foreign)[:8]) + ". They are ignored, or events under "
                    "TL_PROFILE_UNKNOWN_FRAMES")
    took = sorted(tally.took_s)
    if took:
        report.seen("latency", f"{len(took)} answers: half within "
                    f"{statistics.median(took) * 1e3:.0f} ms, the slowest "
                    f"{took[-1] * 1e3:.0f} ms")

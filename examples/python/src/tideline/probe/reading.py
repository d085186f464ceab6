"""What pages are like: checks that only read. Each takes the list of the room for the truth."""

from __future__ import annotations

import itertools

from ..values import Ties, Truncates
from .findings import Level
from .room import Page, Room, Row

#: So many rows in one group leave no room for chance in their order: one in 24.
_TIES_MIN = 4


def _groups(rows: list[Row]) -> list[list[Row]]:
    """Neighbours with one time."""
    return [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.us)]


def order(room: Room, sent: list[str]) -> None:
    """Whether the order of pages is that of times, and that of messages with one time."""
    report, rows = room.report, room.rows
    place = {message: n for n, message in enumerate(sent)}
    back = [max(0, early.us - late.us) for early, late in itertools.pairwise(rows)]
    numbers = [row.seq for row in rows]
    by_number = None not in numbers and all(
        early is not None and late is not None and early < late
        for early, late in itertools.pairwise(numbers))
    report.facts.can["sequence"] = by_number and len(rows) > 1
    if len(rows) < 2:
        report.unknown("order", "the order of pages: there are fewer than two messages")
        return
    if not any(back):
        report.facts.order_is_time = True
        report.seen("order", "pages are in the order of created_at")
    elif by_number:
        report.facts.order_is_time = False
        report.trap("order-by-number", "pages are in the order of seq, not of created_at: times go "
                    f"back by up to {max(back) / 1e6:g} s. It needs TL_SERVER_SEQUENCE")
    else:
        _unsorted(room, place, max(back))
    if not by_number and any(number is not None for number in numbers):
        report.trap("seq-orders-nothing", "messages have a seq, but pages are not in its order: do "
                    "not declare TL_SERVER_SEQUENCE")
    _ties(room, place)


def _unsorted(room: Room, place: dict[str, int], back_us: int) -> None:
    """Times go back: either the server has an order of its own, or it has none."""
    report, rows = room.report, room.rows
    again = room.page(min(1_000, len(rows)))
    listed = [row.id for row in rows]
    stable = again is not None and again.ids == listed[len(rows) - len(again.rows):]
    own = [place[row.id] for row in rows if row.id in place]
    arrival = len(own) < 2 or own == sorted(own)
    report.facts.order_is_time = False
    if stable and arrival:
        report.trap("order-not-time", "pages are in an order of their own, in which created_at "
                    f"goes back by up to {back_us / 1e6:g} s: places by time would leave messages "
                    "out. Such a server is a log")
    else:
        report.fault("unsorted", f"pages are in no order: created_at goes back by up to "
                     f"{back_us / 1e6:g} s, and "
                     + ("messages that were sent one after another change places" if stable else
                        "the same page asked twice lists them otherwise")
                     + ". Sort them, the oldest first, before they are cut")


def _ties(room: Room, place: dict[str, int]) -> None:
    report = room.report
    groups = [group for group in _groups(room.rows) if len(group) > 1]
    large = [group for group in groups if len(group) >= _TIES_MIN]
    if not large:
        report.unknown("ties", "the order within one printed time: no "
                       f"{_TIES_MIN} messages have the same created_at")
        return
    by_id = all([row.id for row in group] == sorted((row.id for row in group),
                                                    key=lambda text: text.encode())
                for group in groups)
    own = [[place[row.id] for row in group if row.id in place] for group in groups]
    by_arrival = all(part == sorted(part) for part in own) and any(len(part) >= 2 for part in own)
    if by_arrival:
        report.facts.ties = Ties.ARRIVAL
        report.seen("ties", "messages with one created_at stand as they were sent")
    elif by_id:
        report.facts.ties = Ties.ID
        report.seen("ties", "messages with one created_at stand by the bytes of their ids")
    elif not place:
        report.unknown("ties", "messages with one created_at do not stand by their ids; how else "
                       "is not known without sending")
    else:
        report.trap("ties", "messages with one created_at stand neither by their ids nor as they "
                    "were sent: leave `ties` unknown, pages are believed")


def _shifted(room: Room, page: Page, offset: int) -> int | None:
    """By how much a page stands elsewhere than asked for; None where it is no run of the list."""
    wanted = [row.id for row in room.rows]
    count = len(page.ids)
    for shift in (0, 1, -1, 2, -2, 3, -3):
        end = len(wanted) - offset - shift
        if end - count >= 0 and end <= len(wanted) and wanted[end - count:end] == page.ids:
            return shift
    return None


def offsets(room: Room) -> None:
    """Whether an offset skips what it says, and what sizes pages have."""
    report, count = room.report, len(room.rows)
    if count < 4:
        report.unknown("offsets", "what an offset skips: there are fewer than four messages")
        return
    tries = [(2, 0), (2, 1), (3, 2), (min(5, count), 0), (2, max(0, count - 4)), (1, count // 2)]
    for limit, offset in tries:
        page = room.page(limit, offset)
        if page is None:
            continue
        room.sizes.append((min(limit, count - offset), page.size))
        if not page.rows:
            report.fault("page-empty", f"an offset of {offset} of {count} messages gave none: an "
                         "empty page says that nothing is there")
            continue
        shift = _shifted(room, page, offset)
        if shift is None and set(page.ids) <= {row.id for row in room.rows}:
            report.fault("page-holes", f"the page of {limit} at {offset} is no run of neighbours "
                         "in the list of the larger page: messages between are lost")
        elif shift is None:
            report.fault("page-holes", f"the page of {limit} at {offset} has messages that the "
                         "list lacks")
        elif shift:
            report.fault("offset-off", f"an offset of {offset} skips {offset + shift}: at each "
                         "end of a page messages are passed over, or shown twice")
        if page.has_more is not None and page.has_more != (count > offset + page.size) \
                and room.whole:
            report.fault("has-more-wrong", f"has_more is {str(page.has_more).lower()} for a page "
                         f"of {page.size} at {offset} of {count}: `false` proves that nothing "
                         "more is there")
    beyond = room.page(5, count + 5)
    if room.whole and beyond is not None and (beyond.size or beyond.has_more):
        report.fault("page-empty", f"an offset of {count + 5} of {count} messages gave "
                     f"{beyond.size}, has_more {beyond.has_more}: the start is never reached")
    if not report.names(Level.FAULT) & {"page-empty", "page-holes", "offset-off", "has-more-wrong"}:
        report.seen("offsets", "an offset skips from the newest end what it says")


def sizes(room: Room, page_limit: int) -> None:
    """A cap, or sizes that vary."""
    report, count = room.report, len(room.rows)
    pages = [room.page(min(8, count)) for _ in range(4)] if count else []
    room.sizes += [(min(8, count), page.size) for page in pages if page is not None]
    top = room.page(1_000)
    if top is not None and count:
        room.sizes.append((min(1_000, count), top.size))
    cut = [(asked, came) for asked, came in room.sizes if came < asked <= count]
    largest = max((came for _, came in room.sizes), default=0)
    smaller = [pair for pair in cut if pair[1] < largest]
    report.facts.sizes_vary = bool(smaller)
    if smaller:
        asked, came = smaller[0]
        report.trap("sizes-vary", f"of {asked} asked for {came} came, although more are there and "
                    f"a page of {largest} was given: a short page proves nothing. It needs "
                    "TL_PROFILE_PAGE_SIZE_VARIES")
    elif cut:
        report.facts.page_cap = largest
        report.trap("page-cap", f"a page has at most {largest} messages, whatever is asked: ask "
                    "for no more, or the first page of a run proves less")
    elif count > page_limit:
        report.seen("page-cap", f"a page of {min(count, 1_000)} is not cut")
    else:
        report.unknown("page-cap", f"a cap of pages: none up to {count} messages, and more are not "
                       "here")


def _selection(room: Room, us: int, inclusive: bool) -> list[str]:
    return [row.id for row in room.rows if row.us > us or inclusive and row.us == us]


def after(room: Room) -> None:
    """What ``after_ts`` selects, and which end of a cut page is kept."""
    report = room.report
    if report.facts.order_is_time is False:
        report.unknown("after", "what after_ts selects: the order of pages is not that of times")
        return
    groups = _groups(sorted(room.rows, key=lambda row: row.us))
    if len(groups) < 3:
        report.unknown("after", "what after_ts selects: there are fewer than three times")
        return
    cap = report.facts.page_cap or 1_000
    # The largest selection above a group's time that is sure to come whole.
    chosen = next((group for group in groups[:-1]
                   if len(_selection(room, group[0].us, True)) <= cap), None)
    if chosen is None or report.facts.sizes_vary:
        chosen = groups[-2]
    us, printed = chosen[0].us, chosen[0].printed
    got: set[str] = set()
    for _ in range(12 if report.facts.sizes_vary else 1):
        page = room.page(1_000, after_ts=printed)
        if page is None:
            report.fault("after-refused", "get_messages with after_ts is refused: catching up "
                         "needs it")
            return
        got |= set(page.ids)
    above, upon = set(_selection(room, us, False)), set(_selection(room, us, True))
    if page is not None and page.total is not None and room.total is not None \
            and page.total != room.total and page.total == len(got):
        report.fault("count-of-selection", f"total_count is {page.total} with after_ts and "
                     f"{room.total} without: it counts the whole conversation, whatever was "
                     "selected")
    if report.facts.sizes_vary:
        report.facts.after_inclusive = bool(got & (upon - above)) or None
    elif got == above:
        report.facts.after_inclusive = False
        report.seen("after", "after_ts leaves its own time out")
    elif got == upon:
        report.facts.after_inclusive = True
        report.seen("after", "after_ts includes its own time")
    elif above <= got <= upon:
        report.trap("after-finer", "after_ts selects a part of its own printed time: the server "
                    "compares finer than it prints. What is asked leaves room for it")
    else:
        lost = len(above - got)
        report.fault("after-wrong", f"after_ts selects {len(got)} messages, {lost} of the "
                     f"{len(above)} newer ones are not among them, and {len(got - upon)} are "
                     "older: a catch-up passes messages over")
    _cut(room, groups)


def _cut(room: Room, groups: list[list[Row]]) -> None:
    report = room.report
    limit, wanted, printed = 2, list[str](), ""
    for group in reversed(groups):
        printed = group[0].printed
        wanted = _selection(room, group[0].us, bool(report.facts.after_inclusive))
        if len(wanted) > 2 * limit:
            break
    else:
        report.unknown("truncates", "which end of a cut page of after_ts is kept: too few messages")
        return
    for _ in range(3):
        page = room.page(limit, after_ts=printed)
        if page is None or not page.ids:
            continue
        if page.ids == wanted[-len(page.ids):]:
            found = Truncates.NEWEST
        elif page.ids == wanted[:len(page.ids)]:
            found = Truncates.OLDEST
        else:
            report.unknown("truncates", "which end of a cut page of after_ts is kept: it is "
                           "neither end of what was selected")
            return
        report.facts.truncates = found
        report.seen("truncates", f"a cut page of after_ts keeps the {found.name.lower()} messages")
        if page.has_more is False:
            report.fault("has-more-wrong", "has_more is false for a page of after_ts that is cut: "
                         "`false` proves that nothing more is there")
        return


def counts(room: Room) -> None:
    """Whether ``total_count`` is what pages show."""
    report, count = room.report, len(room.rows)
    if room.total is None:
        report.seen("counts", "no total_count: nothing audits what is known")
    elif not room.whole:
        report.unknown("counts", "whether total_count is right: the list was not walked to its "
                       f"start; {room.total} are counted")
    elif room.total == count:
        report.seen("counts", f"total_count is what pages show, {count}")
    else:
        report.fault("count-wrong", f"total_count is {room.total}, and pages show {count}: every "
                     "read ends with TL_STOP_COUNT. Count what pages show, leave it out, or "
                     "declare TL_PROFILE_COUNTS_HIDDEN")

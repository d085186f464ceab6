"""What stands between messages: days, gaps, the unread line; and what folds into groups."""

import dataclasses
import os
import time
import unittest

from tideline import Message, MessageFlags, MessageState, Status, Waiting, WindowState
from tideline_terminal.entries import EntryKind, entries

HOUR = 3_600_000_000
STATE = WindowState(True, True, False, False, False, 1, 0, 0, 0, Waiting.NOTHING, Status.OK, 0)
EVENT, GAP = MessageFlags.EVENT, MessageFlags.GAP_BEFORE


def row(number, flags=MessageFlags(0), hours=0.0, sender="jan", **more):
    message = Message(number, int(1_700_000_000_000_000 + hours * HOUR), flags, f"m{number}", "c",
                      sender, "", b'{"text":"x"}', None, b"", b"", b"", b"", b"", 0)
    return dataclasses.replace(message, **more)


def drawn(rows, unread=None, opened=(), state=STATE):
    return [(entry.kind.value, entry.row, entry.count)
            for entry in entries(rows, state, unread, opened)]


class Entries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["TZ"] = "UTC"
        time.tzset()

    def test_days_the_unread_line_and_the_start(self):
        rows = [row(1), row(2), row(3, hours=30)]
        self.assertEqual(drawn(rows, unread=3), [
            ("start", 0, 0), ("day", 0, 0), ("message", 0, 1), ("message", 1, 1), ("day", 2, 0),
            ("unread", 2, 0), ("message", 2, 1)])

    def test_a_group_folds_and_opens(self):
        rows = [row(1), row(2, EVENT), row(3, EVENT), row(4, MessageFlags.DELETED), row(5)]
        folded = drawn(rows)[2:]
        self.assertEqual(folded, [("message", 0, 1), ("group", 1, 3), ("message", 4, 1)])
        opened = drawn(rows, opened={"group 4"})[2:]
        self.assertEqual(opened, [
            ("message", 0, 1), ("group", 1, 3), ("event", 1, 1), ("event", 2, 1), ("event", 3, 1),
            ("message", 4, 1)])

    def test_one_event_alone_is_no_group(self):
        self.assertEqual(drawn([row(1), row(2, EVENT), row(3)])[3], ("event", 1, 1))

    def test_no_group_spans_a_gap_a_day_or_the_unread_line(self):
        events = [row(number, EVENT) for number in (1, 2, 3, 4)]
        cut = [*events[:2], dataclasses.replace(events[2], flags=EVENT | GAP), events[3]]
        self.assertEqual(drawn(cut)[2:], [("group", 0, 2), ("gap", 2, 0), ("group", 2, 2)])
        self.assertEqual(drawn(events, unread=3)[2:],
                         [("group", 0, 2), ("unread", 2, 0), ("group", 2, 2)])
        days = [*events[:2], row(3, EVENT, hours=30), row(4, EVENT, hours=30)]
        self.assertEqual(drawn(days)[2:], [("group", 0, 2), ("day", 2, 0), ("group", 2, 2)])

    def test_a_group_keeps_its_key_while_older_rows_come(self):
        def key(rows):
            return next(entry.key for entry in entries(rows, STATE, None, ())
                        if entry.kind == EntryKind.GROUP)

        rows = [row(number, EVENT) for number in range(5, 9)]
        self.assertEqual(key(rows), key([row(3, EVENT), row(4, EVENT), *rows]))

    def test_gaps_at_the_ends(self):
        state = dataclasses.replace(STATE, at_start=False, gap_before=True, gap_after=True,
                                    waiting=Waiting.OLDER)
        found = entries([row(1)], state, None, ())
        self.assertEqual([entry.key for entry in found if entry.kind == EntryKind.GAP],
                         ["gap before", "gap after"])
        self.assertTrue(found[0].healing)

    def test_keys_are_unique(self):
        rows = [row(1), row(2, GAP), row(3, GAP, hours=30), row(4, EVENT, hours=30),
                row(5, EVENT, hours=30),
                row(6, state=MessageState.QUEUED, time_us=0)]
        for opened in ((), {"group 5"}):
            keys = [entry.key for entry in entries(rows, STATE, 3, opened)]
            self.assertEqual(len(keys), len(set(keys)))

    def test_a_name_stands_once_above_a_run(self):
        rows = [row(1), row(2), row(3, sender="eva"), row(4, hours=2, sender="eva")]
        firsts = [entry.first for entry in entries(rows, STATE, None, ())
                  if entry.kind == EntryKind.MESSAGE]
        self.assertEqual(firsts, [True, False, True, True])

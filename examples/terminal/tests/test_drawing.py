"""What is drawn of an item and around it, and which lines are its own."""

import dataclasses
import html
import os
import time
import unittest
from datetime import date

from tideline import Item, ItemFlags, Message, MessageFlags
from tideline_terminal.drawing import Drawing
from tideline_terminal.entries import NO_ENDS, Ends, Entry, fold
from tideline_terminal.screenshots import plain

HOUR_US = 3_600_000_000
# A Tuesday.
DAY = date(2023, 11, 14)
ROW = Message(1, 1_699_970_000_000_000, MessageFlags(0), "m1", "c", "jan", "", b'{"text":"x"}',
              None, b"", b"", b"", b"", b"", 0)
EVENT = dataclasses.replace(ROW, flags=MessageFlags.EVENT, payload=b'{"event":"jan joined"}')


def drawn(flags=ItemFlags(0), message=ROW, ends=NO_ENDS, count=1):
    item = Item(7, flags, 0, count, None, 0, 3, (DAY - date(1970, 1, 1)).days, 0, 1, 0)
    drawing = Drawing("eva", lambda id: None, lambda: DAY)
    block = drawing.block(Entry(item, (message,), ends), 60)
    texts = [line.plain.strip(" ─╌") for line in block.lines]
    return texts, texts[block.first:block.last]


class Blocks(unittest.TestCase):
    def test_a_message_in_a_run_is_its_text(self):
        self.assertEqual(drawn(), (["▎  x"], ["▎  x"]))

    def test_the_first_of_a_run_has_a_name(self):
        texts, own = drawn(ItemFlags.RUN_FIRST)
        self.assertEqual((texts[0], texts[1].split()[0], texts[2]), ("", "jan", "▎  x"))
        self.assertEqual(own, texts)

    def test_what_lies_between_stands_above_in_this_order(self):
        texts, own = drawn(ItemFlags.SPLIT_BEFORE | ItemFlags.NEW_DAY | ItemFlags.UNREAD_BEFORE)
        self.assertEqual(texts, ["messages may be missing · g fills", "", "Today", "new messages",
                                 "▎  x"])
        self.assertEqual(own, ["▎  x"])

    def test_a_gap_that_heals_says_so(self):
        texts, _ = drawn(ItemFlags.SPLIT_BEFORE | ItemFlags.SPLIT_HEALING)
        self.assertEqual(texts[0], "loading what lies here")

    def test_the_ends_of_the_list(self):
        texts, own = drawn(ends=Ends(gap_before=True, gap_after=True))
        self.assertEqual(texts, ["older ones on the server · g fills", "▎  x",
                                 "newer ones on the server · g fills"])
        self.assertEqual(own, ["▎  x"])
        texts, _ = drawn(ends=Ends(start=True))
        self.assertEqual(texts[0], "· the beginning of the conversation ·")

    def test_a_group_is_one_line_and_opens_with_a_head(self):
        self.assertEqual(drawn(ItemFlags.GROUP, EVENT, count=3)[0], ["▸ 3 events"])
        opened = ItemFlags.OPENED | ItemFlags.GROUP_FIRST
        self.assertEqual(drawn(opened, EVENT)[0], ["▾ 3 events", "jan joined"])
        self.assertEqual(drawn(ItemFlags.OPENED, EVENT)[0], ["jan joined"])

    def test_what_is_pending_has_no_day(self):
        item = Item(7, ItemFlags.NEW_DAY, 0, 1, None, 0, 1, None, 0, 1, 0)
        self.assertIsNone(Entry(item, (ROW,), NO_ENDS).day)

    def test_a_zone_has_two_offsets_in_a_year(self):
        before = os.environ.get("TZ")
        self.addCleanup(lambda: (os.environ.__setitem__("TZ", before or "UTC"), time.tzset()))
        os.environ["TZ"] = "Europe/Prague"
        time.tzset()
        summer = dataclasses.replace(ROW, time_us=ROW.time_us - 120 * 24 * HOUR_US)
        self.assertEqual(fold(ROW), fold(dataclasses.replace(ROW, number=2)))
        self.assertEqual((fold(ROW).zone_offset_min, fold(summer).zone_offset_min), (60, 120))
        self.assertEqual((fold(ROW).fold, fold(EVENT).fold), (0, 1))


class Pictures(unittest.TestCase):
    def test_a_text_is_as_long_as_its_columns(self):
        """A Chinese character takes two columns, and so does an emoji."""
        for words, length in (("周末", "48.8"), ("ab&#160;", "36.6"), ("🎉&lt;", "36.6")):
            count = len(html.unescape(words))
            drawn = f'<text x="1" textLength="{12.2 * count:g}" class="a">{words}</text>\n'
            self.assertEqual(
                plain(drawn), f'<text x="1" textLength="{length}" class="a">{words}</text>\n')

    def test_a_text_begins_with_what_is_seen(self):
        """librsvg draws no space at the beginning of a text."""
        drawn = '<text class="a" x="10" y="2" textLength="61">&#160;&#160;a&#160;b</text>\n'
        self.assertEqual(
            plain(drawn),
            '<text class="a" x="34.4" y="2" textLength="36.6">a&#160;b</text>\n')
        spaces = '<text class="a" x="10" y="2" textLength="24.4">&#160;&#160;</text>\n'
        self.assertEqual(plain(spaces), spaces)

"""The arithmetic of the list: against an obvious one, over random lives."""

import random
import unittest

from tideline_terminal.scroller import Scroller


class Life:
    """A list with heights, a scroller on it, and what a person sees."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.next = 0
        self.heights = {}
        self.keys = [self.new() for _ in range(self.dice.randrange(40))]
        self.scroller = Scroller(lambda index: self.heights[self.keys[index]])
        self.scroller.height = self.dice.randrange(3, 30)
        self.scroller.update(self.keys)

    def new(self):
        self.next += 1
        self.heights[f"k{self.next}"] = self.dice.randrange(1, 6)
        return f"k{self.next}"

    def seen(self):
        return {self.keys[index]: top for index, top in self.scroller.place()}

    def change(self):
        """Inserts and removes anywhere but where nothing visible would be left to hold to."""
        keys = list(self.keys)
        for _ in range(self.dice.randrange(1, 4)):
            at = self.dice.randrange(len(keys) + 1)
            if self.dice.random() < 0.7 or len(keys) < 5:
                keys[at:at] = [self.new() for _ in range(self.dice.randrange(1, 5))]
            elif at < len(keys):
                del keys[at]
        self.keys = keys
        self.scroller.update(keys)


class Scrolling(unittest.TestCase):
    def test_placed_entries_cover_the_screen_once(self):
        for seed in range(300):
            life = Life(seed)
            for _ in range(20):
                if life.dice.random() < 0.5:
                    life.change()
                else:
                    life.scroller.scroll(life.dice.randrange(-40, 41))
                placed = life.scroller.place()
                self.cover(life, placed, seed)

    def cover(self, life, placed, seed):
        total = sum(life.heights[key] for key in life.keys)
        if not life.keys:
            self.assertEqual(placed, [])
            return
        for (index, top), (below, next_top) in zip(placed, placed[1:]):
            self.assertEqual(below, index + 1, seed)
            self.assertEqual(next_top, top + life.heights[life.keys[index]], seed)
        index, top = placed[-1]
        bottom = top + life.heights[life.keys[index]]
        self.assertGreaterEqual(bottom, life.scroller.height, seed)
        if total >= life.scroller.height:
            self.assertLessEqual(placed[0][1], 0, seed)
        else:
            self.assertEqual((placed[0], bottom), ((0, life.scroller.height - total),
                                                   life.scroller.height), seed)

    def test_the_lowest_visible_entry_stays_where_it_is(self):
        kept = 0
        for seed in range(400):
            life = Life(seed)
            life.scroller.scroll(life.dice.randrange(1, 60))
            before = life.seen()
            if not before or life.scroller.at_end:
                continue
            anchor = list(before)[-1]
            life.change()
            after = life.seen()
            total = sum(life.heights[key] for key in life.keys)
            if anchor in life.keys and total > 3 * life.scroller.height:
                at = life.keys.index(anchor)
                above = sum(life.heights[key] for key in life.keys[:at])
                below = sum(life.heights[key] for key in life.keys[at:])
                if above > life.scroller.height and below > life.scroller.height:
                    kept += 1
                    self.assertEqual(after[anchor], before[anchor], seed)
        self.assertGreater(kept, 20)

    def test_held_to_its_end_it_shows_what_comes(self):
        life = Life(7)
        self.assertTrue(life.scroller.at_end)
        for _ in range(50):
            life.keys = [*life.keys, life.new()]
            life.scroller.update(life.keys)
            self.assertEqual(list(life.seen())[-1], life.keys[-1])

    def test_shows_an_entry_whole(self):
        for seed in range(200):
            life = Life(seed)
            if not life.keys or life.scroller.height < 6:
                continue
            index = life.dice.randrange(len(life.keys))
            life.scroller.show(index, middle=life.dice.random() < 0.5)
            top = dict(life.scroller.place())[index]
            self.assertGreaterEqual(top, 0, seed)
            self.assertLessEqual(top + life.heights[life.keys[index]], life.scroller.height, seed)

    def test_measures_no_more_than_the_screen(self):
        """A list of 100,000 costs what one of 100 does."""
        counts = []
        for length in (100, 100_000):
            measured = set()
            scroller = Scroller(lambda index: measured.add(index) or 2)
            scroller.height = 30
            scroller.update([str(index) for index in range(length)])
            scroller.place()
            for _ in range(20):
                scroller.scroll(3)
            counts.append(len(measured))
        self.assertEqual(counts[0], counts[1])

"""The viewport from Python: an endless list of a host that knows heights when it is asked."""

import array
import random
import unittest

import tideline
from tideline import Edge, Op, OpKind, Viewport


class Host:
    """A list of keys, each row with a height of its own."""

    def __init__(self, count, **config):
        self.viewport = Viewport(600, height_min=20, **config)
        self.keys = array.array("Q")
        self.insert(0, range(1, count + 1))

    def insert(self, row, keys):
        keys = list(keys)
        self.keys[row:row] = array.array("Q", keys)
        self.viewport.update([Op(OpKind.INSERT, row, 0, len(keys))], self.keys)

    def place(self):
        return self.viewport.place(lambda row: 20 + row.key * 7 % 90)


class Viewports(unittest.TestCase):
    def test_what_is_visible_stays(self):
        """header: "It stays where it is whatever is added, removed or changes its height" """
        for bottom_up in (False, True):
            host = Host(1000, bottom_up=bottom_up)
            host.place()
            host.viewport.scroll_to(500)
            before = {row.key: row.top for row in host.place()}
            self.assertEqual(before[500], 0)
            host.insert(0, range(2000, 2050))
            host.insert(len(host.keys), range(3000, 3050))
            self.assertEqual({row.key: row.top for row in host.place()}, before)

    def test_two_rounds_are_enough(self):
        """header: "Two rounds are enough where no row" """
        host, dice = Host(5000), random.Random(1)
        for _ in range(200):
            host.viewport.scroll_to(dice.randrange(1, 5001))
            layout = host.viewport.layout()
            host.viewport.measure({row.key: 20 + row.key * 7 % 90 for row in layout.missing})
            layout = host.viewport.layout()
            self.assertEqual(layout.missing, ())
            self.assertLessEqual(layout.rows[0].top, 0)
            for row, below in zip(layout.rows, layout.rows[1:]):
                self.assertEqual(row.top + row.height, below.top)

    def test_frames_end_where_a_scroll_at_once_does(self):
        """header: "ends where #tl_viewport_scroll_to" """
        for edge, key in ((Edge.TOP, 800), (Edge.BOTTOM, 100), (Edge.BOTTOM_END, 0)):
            host, other = Host(1000), Host(1000)
            self.assertTrue(host.viewport.animate_to(0, key, edge, speed=2000))
            now = 0
            while host.viewport.tick(now):
                host.place()
                now += 16
                self.assertLess(now, 2000)
            self.assertTrue(other.viewport.scroll_to(key, edge))
            tops = [[(row.key, row.top) for row in each.place()] for each in (host, other)]
            self.assertEqual(tops[0], tops[1])

    def test_the_bar_does_not_go_back(self):
        """header: "The bar's thumb never goes back while" """
        host = Host(300, bottom_up=True, hold_bottom=True)
        host.place()
        start, layouts = host.viewport.state().bar[0], host.viewport.state().layouts
        for turn in range(100):
            host.viewport.scroll(-250)
            host.place()
            state = host.viewport.state()
            self.assertLessEqual(state.bar[0], start)
            self.assertGreater(state.layouts, layouts)
            start, layouts = state.bar[0], state.layouts
            if state.near_top and turn < 60:
                host.insert(0, range(10_000 + turn * 50, 10_050 + turn * 50))
        self.assertEqual((start, host.viewport.state().above), (0, 0))

    def test_a_window_drives_it(self):
        """Steps of a window go straight in, and the checksums are one."""
        with tideline.Client(user_id="me") as client:
            viewport, rows = Viewport(100, bottom_up=True), None
            with client.window("c") as window:
                rows = tideline.Rows(window)
                for text in ("one", "two", "three"):
                    client.send("c", text)
                    diff = rows.poll()
                    viewport.update(diff.ops, [row.number for row in rows.messages])
                    self.assertEqual(viewport.state().checksum, diff.checksum)
        self.assertEqual([row.key for row in viewport.place(lambda _: 30)],
                         [row.number for row in rows.messages])

    def test_what_is_refused(self):
        host = Host(10)
        with self.assertRaises(tideline.TooLargeError):
            host.viewport.measure({1: 1 << 41})
        with self.assertRaises(tideline.InvalidError):
            host.viewport.update([Op(OpKind.REMOVE, 10, 0, 1)])
        with self.assertRaises(ValueError):
            host.viewport.update([Op(OpKind.INSERT, 0, 0, 1)], range(11), [1])
        self.assertFalse(host.viewport.scroll_to(99))
        self.assertFalse(host.viewport.stop())
        self.assertIsNone(host.viewport.find(99))
        self.assertIsNone(host.viewport.at(-1))
        host.viewport.resize(50, measure=True)
        host.viewport.scroll(-9, finger=True)
        self.assertFalse(host.viewport.release(0))
        self.assertEqual(host.viewport.at(0).key, 1)

"""The client at several sizes, through Textual's pilot and in virtual time."""

import asyncio
import contextlib
import re
import unittest

from textual.widgets import HelpPanel

from tideline_terminal.hits import SearchBox
from virtual import ROOM, World

SIZES = [(columns, lines) for columns in (40, 60, 80, 120, 200) for lines in (12, 40)]
NARROW = [size for size in SIZES if size[0] < 60]
WIDE = [size for size in SIZES if size[0] >= 60]
BADGE = re.compile(r"  \d+ *$")


def drawn(app):
    """The lines of the screen."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


@contextlib.asynccontextmanager
async def opened(size, world=None):
    """The client with the newest messages on a screen of a size."""
    world = world or World(100, 1_000)
    async with world.app.run_test(size=size) as pilot:
        world.connect()
        world.run(3_000)
        await pilot.pause()
        yield world, world.app, pilot


class Sizes(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # Virtual seconds pass within one step of the loop, which is no fault of it.
        asyncio.get_running_loop().set_debug(False)

    async def test_one_pane_where_two_have_no_room(self):
        """The conversation has all columns, and a key goes to the list and back."""
        for size in NARROW:
            with self.subTest(size):
                async with opened(size) as (world, app, pilot):
                    self.assertEqual(app.messages.size.width, size[0])
                    self.assertEqual(app.conversations.size.width, 0)
                    self.assertIn("history 199", "\n".join(drawn(app)))
                    await pilot.press("escape", "escape")
                    await pilot.pause()
                    self.assertIs(app.focused, app.conversations)
                    self.assertEqual(app.conversations.size.width, size[0])
                    self.assertEqual(app.messages.size.width, 0)
                    world.post("while the list is shown")
                    world.run(4_000)
                    await pilot.press("enter")
                    await pilot.pause()
                    self.assertIs(app.focused, app.composer)
                    self.assertIn("while the list is shown", "\n".join(drawn(app)))
                    await pilot.press("escape", "escape", "escape")
                    await pilot.pause()
                    self.assertIs(app.focused, app.messages)
                    self.assertEqual(app.messages.size.width, size[0])

    async def test_two_panes_and_the_list_has_a_third_at_most(self):
        for size in WIDE:
            with self.subTest(size):
                async with opened(size) as (_, app, _):
                    side = app.query_one("#side").outer_size.width
                    self.assertGreaterEqual(side, 19)
                    self.assertLessEqual(side, size[0] / 3)
                    self.assertEqual(app.messages.size.width, size[0] - side)
                    self.assertGreaterEqual(app.messages.size.height, 3)

    async def test_a_terminal_that_becomes_narrow_shows_the_pane_with_the_focus(self):
        async with opened((120, 40)) as (_, app, pilot):
            await pilot.press("escape", "escape")
            await pilot.resize_terminal(40, 12)
            await pilot.pause()
            self.assertIs(app.focused, app.conversations)
            self.assertEqual(app.conversations.size.width, 40)
            await pilot.resize_terminal(120, 40)
            await pilot.pause()
            self.assertGreater(app.messages.size.width, 80)

    async def test_facts_are_left_out_whole(self):
        """A line of facts ends with a whole fact, or with a sign that the first was shortened."""
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, _):
                    for name in ("#title", "#status"):
                        facts = app.query_one(name)
                        shown = facts.render().plain
                        self.assertLessEqual(len(shown), size[0])
                        self.assertTrue(any(shown.endswith(fact.plain) for fact in facts._facts))
                    self.assertIn("Harbour", drawn(app)[0])
                    self.assertIn("up to date", "\n".join(drawn(app)))

    async def test_the_footer_names_whole_keys_of_the_pane(self):
        """Each key that is shown has its words, and Help is always there."""
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, pilot):
                    for keys, words in (((), "Send"), (("escape",), "List"),
                                        (("escape",), "Messages"), (("ctrl+f",), "Close")):
                        await pilot.press(*keys)
                        await pilot.pause()
                        line = drawn(app)[-1]
                        self.assertIn("f1 Help", line)
                        self.assertIn(words, line)
                        named = [f"{app.get_key_display(key.binding)} {key.binding.description} "
                                 for key in app.screen.active_bindings.values()
                                 if key.binding.show]
                        rest = line.rstrip() + " "
                        while rest:
                            key = next((key for key in named if rest.startswith(key)), None)
                            self.assertIsNotNone(key, f"{rest!r} begins with no key")
                            rest = rest[len(key):]

    async def test_a_click_on_a_key_of_the_footer_presses_it(self):
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, pilot):
                    for words in ("f1 Help", "esc "):
                        column = drawn(app)[-1].index(words)
                        await pilot.click(offset=(column, size[1] - 1))
                        await pilot.pause()
                        await pilot.pause()
                        self.assertEqual(bool(app.query(HelpPanel)), words == "f1 Help")
                        if words == "f1 Help":
                            await pilot.press("f1")
                            await pilot.pause()
                    self.assertIs(app.focused, app.messages)

    async def test_help_opens_and_closes(self):
        """F1 everywhere; a question mark where one does not write."""
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, pilot):
                    await pilot.press("?")
                    self.assertEqual(app.composer.value, "?")
                    self.assertFalse(app.query(HelpPanel))
                    for key, pane, words in (
                            ("f1", app.composer, "Write a message here"),
                            ("?", app.messages, "The messages,"),
                            ("?", app.conversations, "The conversations,")):
                        app.go(pane)
                        await pilot.press(key)
                        await pilot.pause()
                        await pilot.pause()
                        lines = "\n".join(drawn(app))
                        self.assertIn(words, lines)
                        self.assertIn("f1 Help", drawn(app)[-1])
                        await pilot.press(key)
                        await pilot.pause()
                        self.assertFalse(app.query(HelpPanel))
                        self.assertIs(app.focused, pane)

    async def test_the_pane_with_the_focus_has_heavy_lines(self):
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, pilot):
                    self.assertIn("┏", "\n".join(drawn(app)))
                    await pilot.press("escape")
                    await pilot.pause()
                    self.assertIn("━", drawn(app)[1])
                    self.assertNotIn("┏", "\n".join(drawn(app)))
                    await pilot.press("escape")
                    await pilot.pause()
                    self.assertNotIn("━", "\n".join(drawn(app)))
                    self.assertEqual("┃" in "\n".join(drawn(app)), size in WIDE)

    async def test_the_search_box_begins_empty(self):
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (_, app, pilot):
                    await pilot.press("ctrl+f", *"199")
                    await pilot.pause()
                    self.assertEqual(len(app.session.search.hits), 1)
                    # The key alone does not empty it.
                    await pilot.press("ctrl+f")
                    self.assertEqual(app.query_one(SearchBox).value, "199")
                    await pilot.press("escape", "ctrl+f")
                    await pilot.pause()
                    self.assertEqual(app.query_one(SearchBox).value, "")
                    self.assertEqual(app.session.search.hits, [])
                    self.assertIn("Find", "\n".join(drawn(app)))

    async def test_a_conversation_that_is_opened_shows_what_is_here_at_once(self):
        """The first frame, without a connection."""
        for size in SIZES:
            with self.subTest(size):
                async with opened(size) as (world, app, pilot):
                    world.disconnect()
                    world.turn()
                    await pilot.press("escape", "escape")
                    await pilot.pause()
                    app.open(ROOM)
                    app.go(app.composer)
                    await pilot.pause()
                    self.assertIn("history 199", "\n".join(drawn(app)))

    async def test_who_sees_the_newest_message_has_no_badge(self):
        """No frame has one while messages come at the end; who scrolled up has one."""
        for size in WIDE:
            with self.subTest(size):
                async with opened(size) as (world, app, pilot):
                    badges = []
                    await pilot.pause()
                    world.on_frame = lambda world: badges.append(BADGE.search(
                        app.conversations.render_line(1).text) is not None)
                    for number in range(5):
                        world.at(4_000 + number * 300, world.post, "new")
                    world.run(8_000)
                    self.assertEqual(set(badges), {False})
                    await pilot.press("escape", "pageup", "pageup")
                    await pilot.pause()
                    world.at(9_000, world.post, "newer")
                    world.run(10_000)
                    self.assertTrue(badges[-1])
                    await pilot.press("ctrl+l")
                    await pilot.pause()
                    world.turn()
                    self.assertFalse(badges[-1])


if __name__ == "__main__":
    unittest.main()

"""Ten minutes of virtual time: a gap that heals within the hold time is drawn by no frame."""

import asyncio
import unittest

import tideline

from virtual import World

MINUTES_10 = 600_000
LATENCY_MS = 150
HOLD_MS = 1_000
#: When the connection breaks, and for how long.
BROKEN = (100_000, 250_000, 420_000)
AWAY_MS = 8_000
#: After this what was missed has come.
HEALED_MS = 2_000
GAP_WORDS = ("messages may be missing", "loading what lies here")


class Gaps:
    """The gap lines of all frames, each told by the message below it, with since when it stands."""

    def __init__(self):
        self.frames = 0
        self.standing = {}
        #: (from, to, the line below it) of each that went, in milliseconds.
        self.gone = []
        self.healing = 0

    def look(self, world):
        """Takes a frame."""
        self.frames += 1
        lines, now = world.drawn(), {}
        for at, line in enumerate(lines):
            if any(word in line for word in GAP_WORDS):
                below = next((text for text in lines[at + 1:] if "▎" in text), "")
                now[below] = self.standing.get(below, world.now)
                self.healing += "loading" in line
        self.gone += [(since, world.now, below) for below, since in self.standing.items()
                      if below not in now]
        self.standing = now


class Frames(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # Virtual minutes pass within one step of the loop, which is no fault of it.
        asyncio.get_running_loop().set_debug(False)

    async def live(self, world, duration):
        """A session: messages now and then and in bursts, and a connection that breaks thrice."""
        gaps = Gaps()
        async with world.app.run_test(size=(110, 34)) as pilot:
            world.connect()
            world.run(3_000)
            await pilot.pause()
            world.on_frame = gaps.look
            time, count = 3_000, 0
            while (time := time + world.dice.randrange(50, 4_000)) < duration:
                for _ in range(world.dice.choice([1, 1, 1, 5])):
                    world.at(time + count % 7, world.post, f"live {count}")
                    count += 1
            for broken in BROKEN:
                if broken < duration:
                    world.at(broken, world.disconnect)
                    world.at(broken + AWAY_MS, world.connect)
            world.run(duration + 10_000)
            await pilot.pause()
            self.assertIn(f"live {count - 1}", "\n".join(world.drawn()))
        self.assertGreater(gaps.frames, count)
        self.assertEqual(gaps.standing, {})
        return gaps

    async def test_no_frame_draws_a_split_that_heals_within_the_hold_time(self):
        """What is drawn stands for longer: a message that came just before the connection broke."""
        gaps = await self.live(World(LATENCY_MS, HOLD_MS), MINUTES_10)
        self.assertEqual([gap for gap in gaps.gone if gap[1] - gap[0] <= HOLD_MS], [])
        for since, until, below in gaps.gone:
            self.assertTrue(any(broken <= since and until <= broken + AWAY_MS + HEALED_MS
                                for broken in BROKEN), (since, until, below))

    async def test_without_a_hold_time_they_are_drawn(self):
        """The test above is able to fail: the gaps are there, and only the hold time hides them."""
        gaps = await self.live(World(LATENCY_MS, tideline.HOLD_NONE), 60_000)
        self.assertGreater(len([gap for gap in gaps.gone if gap[1] - gap[0] <= HOLD_MS]), 10)

    async def test_what_takes_longer_than_the_hold_time_is_drawn(self):
        """Answers after three seconds: a line stands from the hold time on."""
        gaps = await self.live(World(3_000, HOLD_MS), 60_000)
        self.assertGreater(gaps.healing, 10)

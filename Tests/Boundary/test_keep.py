"""Budgets from Python, through the built library: what goes, what stays, and what is told."""

import tempfile
import unittest

import tideline

from support import KEY
from test_find import push


def filled(client, count, name="m", size=100):
    for number in range(count):
        push(client, f"{name}{number}", "x" * size,
             created_at=f"2024-05-01T{10 + number // 3600:02}:"
                        f"{number // 60 % 60:02}:{number % 60:02}")


def purge(client):
    """Purges to the end; in how many steps."""
    work, steps = client.purge(), 1
    while not work.step().is_done:
        steps += 1
    return steps


class Keep(unittest.TestCase):
    def test_the_oldest_go(self):
        with tideline.Client(user_id="me") as client:
            filled(client, 900)
            self.assertFalse(client.room().counted)
            client.retain(tideline.Budget(messages=160))
            self.assertGreater(purge(client), 3)
            rows = client.messages("c", limit=1000).messages
            self.assertEqual([row.id for row in rows], [f"m{n}" for n in range(750, 900)])
            room = client.room("c")
            self.assertEqual((room.messages, room.purged_messages), (150, 750))
            self.assertTrue(room.counted and not room.over and room.bytes > 150 * 290)
            told = [change for change in client.changes(limit=10_000).entries
                    if change.kind is tideline.ChangeKind.PURGED]
            self.assertEqual(sum(change.last - change.first + 1 for change in told), 750)
            self.assertEqual(client.stats().tombstones, 0)
            with self.assertRaises(tideline.NotFoundError):
                client.room("nowhere")

    def test_advance_keeps_the_budget(self):
        with tideline.Client(user_id="me") as client:
            filled(client, 600)
            client.retain(tideline.Budget(messages_each=80))
            calls = 0
            while client.advance() is not None and calls < 100:
                calls += 1
            self.assertLessEqual(client.room().messages, 80)
            client.retain(None)
            self.assertFalse(client.room().counted)
            with self.assertRaises(tideline.InvalidError):
                client.purge()

    def test_a_window_keeps_its_rows(self):
        with tideline.Client(user_id="me") as client:
            filled(client, 300)
            window = client.window("c", count=20, cache_only=True)
            window.poll()
            client.retain(tideline.Budget(messages=1))
            purge(client)
            self.assertTrue(client.room().over)
            self.assertIsNone(window.poll())
            self.assertEqual(client.room().messages, 220)

    def test_space_is_given_back(self):
        """After a purge to a tenth the file is under a fifth, where messages are most of it."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/chat"
            with tideline.Client(user_id="me", path=path, key=KEY) as client:
                for part in range(10):
                    filled(client, 500, f"p{part}-", size=1_000)
            with tideline.Client(user_id="me", path=path, key=KEY) as client:
                before = client.stats().file_bytes
                client.retain(tideline.Budget(messages=500))
                purge(client)
                self.assertLess(client.room().free_bytes, 1 << 16)
            with tideline.Client(user_id="me", path=path, key=KEY) as client:
                self.assertLess(client.stats().file_bytes * 5, before)
                self.assertLessEqual(client.stats().messages, 500)

    def test_a_mirror_gets_each_message_once(self):
        """The recipe of docs/reference/retention.md, with a purge after each page."""
        with tideline.Client(user_id="me") as client:
            client.retain(tideline.Budget(messages=20, untold=True))
            mirror, seq, told = {}, 0, []
            for part in range(5):
                filled(client, 60, f"p{part}-")
                changes = client.changes(seq)
                rows = {row.number: row for row in client.messages("c", limit=1000).messages}
                for change in changes.entries:
                    for number in range(change.first, change.last + 1):
                        if change.kind is tideline.ChangeKind.INSERTED:
                            mirror[number] = rows[number].payload
                            told.append(rows[number].id)
                    seq = change.seq
                client.changes(seq)
                purge(client)
                self.assertLessEqual(client.room().messages, 20)
            self.assertEqual(len(mirror), 300)
            self.assertEqual(len(set(told)), len(told))


if __name__ == "__main__":
    unittest.main()

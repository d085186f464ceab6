"""Backups from Python: a copy beside writes, a process that is killed, and what is refused."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import tideline

from support import KEY, Server, header_sum, take
from test_import import finish, lines, message


def texts(client):
    return [one.payload for one in client.messages("c", limit=10_000).messages]


def imported(client, name, numbers):
    finish(client.import_messages(lines(message(n) for n in numbers), name))


CHILD = """
import sys, tideline
client = tideline.Client(sys.argv[1], %r, user_id="me")
work = client.backup(sys.argv[2])
while True:
    print(work.step(0).done, flush=True)
    sys.stdin.readline()
""" % KEY


class Backup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file, self.copy = self.folder / "eva.tideline", self.folder / "copy"

    def open(self, path=None):
        client = tideline.Client(path or self.file, KEY, user_id="me", log=lambda *_: None)
        self.addCleanup(client.close)
        return client

    def test_beside_writes(self):
        client = self.open()
        imported(client, "old", range(1, 2_000))
        client.draft("c", "a draft")
        sent = client.send("c", "not sent").operation
        before = texts(client)
        work = client.backup(self.copy)
        steps, total = 0, 0
        while True:
            progress = work.step(0)
            total = max(total, progress.total)
            if progress.is_done:
                break
            steps += 1
            imported(client, f"more {steps}", range(10_000 + steps * 10, 10_010 + steps * 10))
            self.assertFalse(self.copy.exists())
        self.assertGreater(steps, 3)
        self.assertEqual((progress.done, self.copy.stat().st_size), (total, total + 8_192))
        self.assertGreater(len(texts(client)), len(before))
        copy = self.open(self.copy)
        self.assertEqual(texts(copy), before)
        self.assertEqual(copy.conversation("c").draft, b"a draft")
        self.assertEqual([one.id for one in copy.operations()], [sent])
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()),
                         ["copy", "copy-own", "copy-wal",
                          "eva.tideline", "eva.tideline-own", "eva.tideline-wal"])

    def test_a_log_that_is_left_is_not_its_own(self):
        """Where it takes the place of a file whose log is there yet: an earlier or a later one."""
        log, logs = self.folder / "eva.tideline-wal", []
        with self.open() as client:
            imported(client, "old", range(1, 100))
            logs.append(log.read_bytes())
            imported(client, "more", range(100, 300))
            before = texts(client)
            finish(client.backup(self.copy))
            imported(client, "later", range(300, 400))
            logs.append(log.read_bytes())
        for left in logs:
            self.assertGreater(len(left), 4_144)
            self.file.write_bytes(self.copy.read_bytes())
            log.write_bytes(left)
            with self.open() as client:
                self.assertEqual(texts(client), before)
                imported(client, "again", range(500, 600))
                now = texts(client)
            with self.open() as client:
                self.assertEqual(texts(client), now)
                self.assertEqual(len(now), len(before) + 100)

    def test_a_kill_leaves_no_half(self):
        with self.open() as client:
            imported(client, "old", range(1, 2_000))
            before = texts(client)
        for steps in (0, 1, 3):
            with subprocess.Popen([sys.executable, "-c", CHILD, self.file, self.copy], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
                for _ in range(steps):
                    child.stdout.readline()
                    child.stdin.write("\n")
                    child.stdin.flush()
                child.stdout.readline()
                child.send_signal(signal.SIGKILL)
            self.assertFalse(self.copy.exists())
            self.assertTrue((self.folder / "copy-new").exists())
        client = self.open()
        finish(client.backup(self.copy))
        self.assertFalse((self.folder / "copy-new").exists())
        self.assertEqual(texts(self.open(self.copy)), before)

    def test_what_is_refused(self):
        client = self.open()
        for path in (self.file, self.folder):
            with self.assertRaises(tideline.InvalidError):
                client.backup(path)
        with self.assertRaises(tideline.StorageError):
            client.backup(self.folder / "missing" / "copy")
        work = client.backup(self.copy)
        with self.assertRaises(tideline.LockedError):
            client.backup(self.copy)
        finish(work)

    def test_what_is_let_go_is_gone(self):
        client = self.open()
        work = client.backup(self.copy)
        del work
        self.assertFalse((self.folder / "copy-new").exists())
        work = client.backup(self.copy)
        client.close()
        self.assertFalse((self.folder / "copy-new").exists())
        with self.assertRaises(tideline.ClosedError):
            work.step()
        with tideline.Client(user_id="me") as memory, self.assertRaises(
                tideline.UnsupportedError):
            memory.backup(self.copy)

    def test_what_waited_is_looked_for(self):
        """A message that the original has sent since is not sent again by the copy."""
        server = Server()
        client = self.open()
        client.connected()
        client.sync("c")
        take(client, server)
        client.disconnected()
        client.send("c", "hello")
        finish(client.backup(self.copy))
        client.close()
        copy = self.open(self.copy)
        copy.connected()
        asked = [json.loads(frame.bytes)["type"] for frame in copy.frames()]
        self.assertNotIn("send_message", asked)



class Salvage(unittest.TestCase):
    """What is left of a file of which pages are destroyed."""

    setUp, open = Backup.setUp, Backup.open

    def saved(self, target, **more):
        work = tideline.salvage(self.file, KEY, target, user_id="me", **more)
        while not work.step(50).is_done:
            self.assertFalse(target.exists())

    def filled(self):
        with self.open() as client:
            imported(client, "old", range(1, 2_000))
            client.draft("c", "a draft")
            sent = client.send("c", "not sent").operation
            return sent, texts(client)

    def test_each_page_destroyed(self):
        sent, before = self.filled()
        whole = self.file.read_bytes()
        pages = (len(whole) - 8_192) // 4_096
        kept = tried = 0
        # Among them page 1 and all of the schema, without which no file opens.
        for page in [*range(12), *range(12, pages, 23)]:
            changed = bytearray(whole)
            changed[8_192 + page * 4_096:12_288 + page * 4_096] = bytes([7]) * 4_096
            self.file.write_bytes(changed)
            target = self.folder / f"saved{page}"
            self.saved(target)
            self.assertEqual(self.file.read_bytes(), changed)
            with self.open(target) as client:
                found = texts(client) if client.conversation("c") else []
                self.assertLessEqual(set(found), set(before))
                self.assertGreater(len(found), len(before) - 60)
                kept += [one.id for one in client.operations()] == [sent]
                tried += 1
                self.assertFalse(client.messages("c", limit=10_000).coverage.whole)
        # One page has the operation itself, which is kept twice.
        self.assertGreater(tried, 15)
        self.assertEqual(kept, tried)

    def test_a_file_that_is_lost(self):
        sent, _ = self.filled()
        self.file.unlink()
        with self.open() as client:
            self.assertEqual([one.id for one in client.operations()], [sent])
            self.assertEqual(client.conversation("c").draft, b"a draft")
            self.assertEqual(texts(client), [b'"not sent"'])
            client.wipe()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_in_the_log(self):
        client = self.open()
        imported(client, "old", range(1, 50))
        before = texts(client)
        copy = self.folder / "killed"
        copy.write_bytes(self.file.read_bytes())
        log = pathlib.Path(f"{self.file}-wal").read_bytes()
        client.close()
        self.file.write_bytes(copy.read_bytes())
        pathlib.Path(f"{self.file}-wal").write_bytes(log)
        self.saved(self.folder / "saved")
        self.assertEqual(texts(self.open(self.folder / "saved")), before)

    def test_refusals(self):
        self.filled()
        target = self.folder / "saved"
        target.write_bytes(b"here")
        with self.assertRaises(tideline.InvalidError):
            self.saved(target)
        self.assertEqual(target.read_bytes(), b"here")
        target.unlink()
        with self.open(), self.assertRaises(tideline.LockedError):
            self.saved(target)
        with self.assertRaises(tideline.MismatchError):
            self.saved(target, account="another")
        names = sorted(one.name for one in self.folder.iterdir())
        self.assertEqual(names, ["eva.tideline", "eva.tideline-own"])


class OwnWork(unittest.TestCase):
    """What lies beside the file: operations and drafts, kept twice."""

    setUp, open, filled = Backup.setUp, Backup.open, Salvage.filled

    def test_it_outlives_the_file(self):
        sent, _ = self.filled()
        self.file.unlink()
        with self.open() as client:
            self.assertEqual([one.id for one in client.operations()], [sent])
            self.assertEqual(client.conversation("c").draft, b"a draft")

    def test_an_interrupted_wipe_gives_nothing_back(self):
        """Killed when the header was wiped, and what lies beside the file was not."""
        self.filled()
        own = pathlib.Path(f"{self.file}-own")
        changed = bytearray(self.file.read_bytes())
        for place in (0, 4_096):
            changed[place + 64:place + 4_064] = bytes(4_000)
            changed[place + 4_064:place + 4_096] = header_sum(changed[place:place + 4_064])
        self.file.write_bytes(changed)
        self.assertTrue(own.exists())
        with self.open() as client:
            self.assertFalse(own.exists())
            self.assertEqual(list(client.operations()), [])
            with self.assertRaises(tideline.NotFoundError):
                client.conversation("c")


class Check(unittest.TestCase):
    """A look at each page of an open file."""

    setUp, open, filled = Backup.setUp, Backup.open, Salvage.filled

    def checked(self, client, heal=False):
        work = client.check(heal)
        self.assertIsNone(work.checked())
        finish(work)
        self.assertIsNone(work.receipt())
        return work.checked()

    def harm(self, *pages):
        changed = bytearray(self.file.read_bytes())
        for page in pages:
            changed[8_192 + page * 4_096] ^= 1
        self.file.write_bytes(changed)
        return (len(changed) - 8_192) // 4_096

    def test_a_sound_file(self):
        self.filled()
        pages = self.harm()
        with self.open() as client:
            found = self.checked(client)
            self.assertEqual((found.pages, found.damaged, found.is_healed), (pages, 0, False))
            self.assertEqual(found.contradictions, 0)
            # What only the log has is sound, too.
            imported(client, "new", range(3_000, 6_000))
            found = self.checked(client, heal=True)
            self.assertEqual((found.damaged, found.contradictions, found.is_healed), (0, 0, False))

    def test_beside_writes(self):
        """What is written between two steps contradicts nothing."""
        self.filled()
        with self.open() as client:
            client.search_switch(True)
            work, number = client.check(heal=True), 3_000
            while not work.step(0).is_done:
                imported(client, f"new {number}", range(number, number + 40))
                client.drop("c", f"m{1_000 + (number - 3_000) // 40:06}")
                client.send("c", f"also {number}")
                number += 40
            found = work.checked()
            self.assertEqual((found.damaged, found.contradictions, found.is_healed), (0, 0, False))
            self.assertGreater(number, 3_200)
            self.assertLess(number, 8_000)

    def test_damaged_pages_are_counted_and_healed(self):
        sent, before = self.filled()
        pages = self.harm()
        # None of them is needed to open the file.
        harmed = range(60, pages, 7)
        self.harm(*harmed)
        with self.open() as client:
            found = self.checked(client)
            self.assertEqual((found.pages, found.damaged), (pages, len(harmed)))
            self.assertEqual(self.checked(client).damaged, len(harmed))
            found = self.checked(client, heal=True)
            self.assertEqual((found.damaged, found.is_healed), (len(harmed), True))
            kept = texts(client)
            # The one that is not sent is shown, and no message yet.
            self.assertEqual(found.messages, len(kept) - 1)
            self.assertEqual(found.operations, len(client.operations()))
            self.assertLess(set(kept), set(before))
            self.assertGreater(len(kept), len(before) // 2)
            self.assertFalse(client.messages("c", limit=10_000).coverage.whole)
            self.assertEqual(self.checked(client).damaged, 0)
        with self.open() as client:
            self.assertEqual((self.checked(client).damaged, texts(client)), (0, kept))

    def test_a_file_that_was_cut_is_healed_by_each_call(self):
        self.filled()
        own = pathlib.Path(f"{self.file}-own")
        whole, kept = self.file.read_bytes(), own.read_bytes()
        calls = {
            "check": lambda client: self.checked(client, heal=True),
            "clear": lambda client: client.clear(),
            "drop": lambda client: client.drop("c"),
            "export": lambda client: finish(client.export("c", lambda _: None)),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.file.write_bytes(whole[:-4_096 * 40])
                own.write_bytes(kept)
                with self.open() as client:
                    self.assertEqual(self.checked(client).damaged, 40)
                    call(client)
                    self.assertEqual(self.checked(client).damaged, 0)
                    self.assertEqual(len(client.operations()), 1)
                    imported(client, "more", range(9_000, 9_500))
                with self.open() as client:
                    self.assertEqual(self.checked(client).damaged, 0)
                    self.assertGreaterEqual(len(texts(client)), 500)

    def test_damage_of_the_log_alone_is_found(self):
        self.filled()
        with self.open() as client:
            imported(client, "new", range(3_000, 4_000))
            log = pathlib.Path(f"{self.file}-wal")
            changed = bytearray(log.read_bytes())
            changed[72 + 4_144 * 5 + 99] ^= 1
            with open(log, "r+b") as file:
                file.write(changed)
            self.assertEqual(self.checked(client).damaged, 1)
            self.assertTrue(self.checked(client, heal=True).is_healed)
            self.assertEqual(self.checked(client).damaged, 0)

    def test_a_page_that_is_newer_in_the_log(self):
        self.filled()
        with self.open() as client:
            self.harm(0)
            self.assertEqual(self.checked(client).damaged, 1)
            # Page 1 says how many pages there are, so it is written where the file grows.
            imported(client, "new", range(3_000, 3_400))
            self.assertEqual(self.checked(client).damaged, 0)

    def test_an_old_page_put_back(self):
        """Each page decrypts. What contradicts another is found, or healed once a call meets it."""
        self.filled()
        earlier = self.file.read_bytes()
        with self.open() as client:
            imported(client, "new", range(3_000, 6_000))
        whole = self.file.read_bytes()

        def page(source, number):
            return source[8_192 + number * 4_096:12_288 + number * 4_096]

        changed = [number for number in range(12, (len(earlier) - 8_192) // 4_096)
                   if page(earlier, number) != page(whole, number)]
        found = met = 0
        for number in changed:
            harmed = bytearray(whole)
            harmed[8_192 + number * 4_096:12_288 + number * 4_096] = page(earlier, number)
            self.file.write_bytes(harmed)
            with self.open() as client:
                checked = self.checked(client)
                self.assertEqual((checked.damaged, checked.is_healed), (0, False))
                found += checked.contradictions > 0
                try:
                    imported(client, "again", range(1, 6_000, 7))
                except tideline.DamagedError:
                    met += 1
                checked = self.checked(client, heal=True)
                self.assertEqual(checked.damaged, 0)
                imported(client, "and again", range(1, 6_000, 7))
                self.assertEqual(self.checked(client).contradictions, 0)
        self.assertGreater(found, 0)
        self.assertGreater(met, 0)

    def test_refusals(self):
        with tideline.Client(None, user_id="me") as client, \
                self.assertRaises(tideline.UnsupportedError):
            client.check()
        client = self.open()
        work = client.check()
        client.close()
        with self.assertRaises(tideline.ClosedError):
            work.step()


if __name__ == "__main__":
    unittest.main()

"""A storage of the host's in Python: the package's base class, the example, and its check."""

import contextlib
import itertools
import json
import logging
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import tideline
from tideline import storage_check

from support import KEY, ROOT, message

DICT = ROOT / "examples" / "storage" / "dict.py"
sys.path.insert(0, str(DICT.parent))
import mirror as mirroring  # The example beside it.

DictStorage = storage_check.find(f"{DICT}:DictStorage")


def opened(storage, name="eva"):
    return tideline.Client(name, KEY, user_id="me", storage=storage, log=lambda *_: None)


@contextlib.contextmanager
def quiet():
    """Without the lines that errors of a storage leave."""
    logger = logging.getLogger("tideline")
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def texts(client):
    return [row.json for row in client.messages("c").messages]


class Failing(DictStorage):
    """One whose calls fail where a test says so, and that loses power as roughly as it may."""

    def __init__(self, seed=0):
        super().__init__()
        self.random, self.pending = random.Random(seed), {}
        self.calls, self.fail_at, self.fault = 0, None, None

    def _held(self, name, fence):
        super()._held(name, fence)
        self.calls += 1
        if self.calls == self.fail_at:
            raise self.fault

    def write(self, name, fence, object, offset, data):
        super().write(name, fence, object, offset, data)
        self.pending.setdefault((name, object), []).append((offset, data))

    def truncate(self, name, fence, object, size):
        super().truncate(name, fence, object, size)
        self.pending.setdefault((name, object), []).append((size, None))

    def remove(self, name, fence, object):
        super().remove(name, fence, object)
        self.pending.setdefault((name, object), []).append((0, None))

    def sync(self, name, fence, object):
        super().sync(name, fence, object)
        self.pending[name, object] = []

    def crash(self):
        """Any part of what was not synced arrives, in any order and torn at any byte."""
        for key, changes in self.pending.items():
            left = bytearray(self.durable.get(key, b""))
            share = self.random.choice((0.1, 0.5, 0.9))
            parts = []
            for at, data in changes:
                if data is None:
                    parts.append((at, None))
                    continue
                cuts = sorted({0, len(data), *(self.random.randrange(len(data)) for _ in range(3))})
                parts += [(at + low, data[low:high]) for low, high in itertools.pairwise(cuts)]
            parts = [part for part in parts if self.random.random() < share]
            self.random.shuffle(parts)
            for at, data in parts:
                if data is None:
                    del left[at:]
                    continue
                left.extend(bytes(max(0, at - len(left))))
                left[at:at + len(data)] = data
            self.durable[key] = bytes(left)
        self.pending = {}
        super().crash()


class Storages(unittest.TestCase):
    def test_a_client_keeps_all_in_a_dict(self):
        storage = DictStorage()
        with opened(storage) as client:
            client.send("c", "not to be read")
            window = client.window("c")
            window.poll()
        with opened(storage) as client:
            self.assertEqual(texts(client), ["not to be read"])
        self.assertEqual({name for name, _ in storage.objects}, {"eva"})
        # A word of three letters is in so many random bytes once in two hundred runs.
        for data in storage.objects.values():
            self.assertNotIn(b"not to be read", bytes(data))

    def test_the_dict_outlives_its_process_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all")
            for turn in (1, 2):
                done = subprocess.run([sys.executable, str(DICT), path], capture_output=True,
                                      text=True, check=True, env={**os.environ})
                self.assertIn("'ahoj 2'", done.stdout)
            self.assertEqual(done.stdout.count("ahoj"), 3 + 4)

    def test_the_check_passes_it(self):
        self.assertEqual(storage_check.check(DictStorage(), steps=600), "pass")
        for seed in range(2):
            self.assertEqual(storage_check.check(Failing(seed), seed=seed, steps=300), "pass")

    def test_the_check_names_what_is_broken(self):
        class Forgetful(DictStorage):
            def sync(self, name, fence, object):
                self._held(name, fence)

        class Trusting(DictStorage):
            def _held(self, name, fence):
                pass

        class Sharing(DictStorage):
            def size(self, name, fence, object):
                return super().size(name, fence, object) + 1

        for broken, promise in ((Forgetful, "sync-size"), (Trusting, "lost-write"),
                                (Sharing, "size")):
            said = storage_check.check(broken(), steps=100)
            self.assertEqual(said.split(":")[0], promise, said)

    def test_the_check_is_a_program(self):
        done = subprocess.run(
            [sys.executable, "-m", "tideline.storage_check", f"{DICT}:DictStorage", "--steps",
             "100"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "storage: pass\n"), done.stderr)

    def test_power_that_goes_keeps_what_was_reported(self):
        for seed in range(25):
            storage, said = Failing(seed), []
            for life in range(3):
                client = opened(storage)
                self.assertEqual(texts(client), said, f"seed {seed}, life {life}")
                for number in range(1 + seed % 4):
                    client.send("c", f"{life}-{number}")
                    said.append(f"{life}-{number}")
                client.draft("c", "not to be kept")
                storage.crash()
                # The process is dead with its client: another one has the name.
                self.assertEqual(texts(opened(storage)), said, f"seed {seed}, life {life}")
                with self.assertRaises(tideline.LockedError):
                    client.send("c", "late")

    def test_an_error_at_each_call_loses_nothing_that_was_reported(self):
        """Each call of a life fails once: what was reported is there, and no more than was said."""
        for fault in (OSError("the disk"), tideline.NoRoom()):
            for call in itertools.count(1):
                storage, said, tried = Failing(call), [], []
                storage.fault, storage.fail_at = fault, call
                with quiet():
                    self.life(storage, said, tried)
                    over = storage.calls < call
                    storage.fail_at = None
                    storage.crash()
                    left = texts(opened(storage))
                self.assertEqual(left[:len(said)], said, f"call {call}")
                self.assertLessEqual(set(left), set(tried), f"call {call}")
                if over:
                    break

    def life(self, storage, said, tried):
        """Four messages, as far as the storage lets them be."""
        try:
            client = opened(storage)
            for number in range(4):
                tried.append(f"n{number}")
                client.send("c", f"n{number}")
                said.append(f"n{number}")
            client.close()
        except tideline.TidelineError as error:
            self.assertIn(type(error), (tideline.StorageError, tideline.FullError))

    def test_a_damaged_page_is_found_and_not_healed(self):
        storage = DictStorage()
        with opened(storage) as client:
            client.draft("c", "a draft")
        with opened(storage) as client:
            with self.assertRaises(tideline.UnsupportedError):
                client.check(heal=True)
            for harmed in (0, 1):
                work = client.check()
                while not work.step().is_done:
                    pass
                self.assertEqual(work.checked().damaged, harmed)
                storage.objects["eva", int(tideline.Object.MAIN)][-100] ^= 1

    def test_a_mirror_has_what_the_client_has(self):
        """Also where a crash has taken back what the mirror had taken already."""
        storage, tables = DictStorage(), sqlite3.connect(":memory:")
        self.addCleanup(tables.close)

        def brought(client):
            while mirroring.mirror(client, tables):
                continue
            kept = [row[0] for row in tables.execute(
                "SELECT payload FROM messages WHERE conversation = 'c' ORDER BY time_us, number")]
            shown = sorted(client.messages("c").messages, key=lambda m: (m.time_us, m.number))
            self.assertEqual(kept, [row.payload for row in shown])
            return len(kept)

        with opened(storage) as client:
            client.send("c", "one")
            self.assertEqual(brought(client), 1)
            self.assertFalse(mirroring.mirror(client, tables))
        client = opened(storage)
        for number in range(3):
            client.receive(json.dumps({"type": "message_new", "conversation_id": "c",
                                       "message": message(number)}))
            self.assertEqual(brought(client), 2 + number)
        storage.crash()
        with opened(storage) as client:
            self.assertEqual(brought(client), 1)
            client.send("c", "two")
            self.assertEqual(brought(client), 2)

    def test_what_a_storage_raises_is_an_error_of_the_disk(self):
        class Odd(DictStorage):
            def read(self, name, fence, object, offset, size):
                return b"x" * (size + 1)

        class Lost(DictStorage):
            def acquire(self, name):
                raise tideline.LeaseLost(name)

        with self.assertLogs("tideline", "ERROR"), self.assertRaises(tideline.StorageError):
            opened(Odd())
        with self.assertRaises(tideline.LockedError):
            opened(Lost())

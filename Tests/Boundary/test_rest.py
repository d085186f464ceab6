"""A client that rests: what is held, what opens the file again, and what a kill leaves."""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import tideline
import tideline.aio
from tideline import _library as c, storage_check

import faults
from support import KEY, ROOT, answer, message

DictStorage = storage_check.find(f"{ROOT}/examples/storage/dict.py:DictStorage")
KILLS = int(os.environ.get("TL_REST_KILLS", "20"))
# Sends and rests without end, and says what each call has kept.
WORKER = """
import sys, tideline
path, number = sys.argv[1], int(sys.argv[2])
client = tideline.Client(path, bytes(range(32)), user_id="me")
while True:
    client.send("c", str(number))
    print("kept", number, flush=True)
    number += 1
    client.rest()
    print("rested", flush=True)
    client.messages("c", limit=1)
"""
OTHER = """
import sys, tideline
try:
    tideline.Client(sys.argv[1], bytes(range(32)), user_id="me")
except tideline.TidelineError as error:
    print(type(error).__name__)
"""


def elsewhere(path):
    """What another process is told that opens the file."""
    return subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True, text=True,
                          check=True).stdout.strip()


def texts(client):
    return [row.json for row in client.messages("c", limit=1_000).messages]


class Rest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file")

    def client(self, **more):
        client = tideline.Client(self.path, KEY, user_id="me", **more)
        self.addCleanup(client.close)
        return client

    def held(self):
        """What of the file this process has open."""
        folder, found = "/proc/self/fd", []
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.append(os.readlink(os.path.join(folder, name)))
        return [one.removeprefix(self.path) for one in found if one.startswith(self.path)]

    def caught_up(self, client, count=20):
        messages = [message(number) for number in range(count)]
        client.connected()
        client.sync("c")
        for frame in client.frames():
            client.receive(answer(frame, messages))
        return client

    def test_one_descriptor_is_held(self):
        before = len(os.listdir("/proc/self/fd"))
        client = self.caught_up(self.client())
        client.send("c", "one")
        client.messages("c")
        self.assertGreater(len(self.held()), 3)
        self.assertTrue(client.rest())
        self.assertEqual(self.held(), [""])
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)
        self.assertFalse(client.rest())
        self.assertEqual(len(texts(client)), 21)
        self.assertGreater(len(self.held()), 1)

    def test_the_lock_stays(self):
        client = self.client()
        client.rest()
        self.assertEqual(elsewhere(self.path), "LockedError")
        with self.assertRaises(tideline.LockedError):
            tideline.Client(self.path, KEY, user_id="me")
        self.assertEqual(self.held(), [""])

    def test_turns_with_nothing_to_do_open_nothing(self):
        now = [1_000_000]
        client = self.caught_up(self.client(clock=lambda: now[0]))
        ready = client.fileno()
        wait = client.advance()
        for _ in range(100):
            if wait is None:
                break
            now[0] += int(wait) + 1
            list(client.frames())
            wait = client.advance()
        client.state()
        self.assertTrue(client.rest())
        self.assertEqual(select.select([ready], [], [], 0)[0], [])
        for _ in range(600):
            now[0] += 1_000
            self.assertIsNone(client.advance())
            self.assertIsNone(client.next_frame())
        self.assertEqual(client.state().phase, tideline.Phase.UP_TO_DATE)
        client.disconnected()
        self.assertEqual(self.held(), [""])

    def test_an_answer_and_a_push_are_taken(self):
        client = self.client()
        messages = [message(number) for number in range(20)]
        client.connected()
        number = client.sync("c")
        frames = list(client.frames())
        window = client.window("c", count=50)
        window.poll()
        self.assertTrue(client.rest())
        while frames:
            for frame in frames:
                client.receive(answer(frame, messages))
            self.assertTrue(client.rest())
            window.poll()
            frames = list(client.frames())
        self.assertEqual(client.sync_status(number).result, tideline.Status.OK)
        self.assertEqual(len(window.rows(0, 100)), 20)

    def test_screens_keep_their_rows(self):
        client = self.caught_up(self.client())
        window, places = client.window("c", count=50), client.conversation_list()
        items = tideline.Items(window)
        for screen in (items, places):
            screen.poll()
        rows = window.state().row_count
        self.assertTrue(client.rest())
        self.assertEqual((window.state().row_count, places.state().row_count), (rows, 1))
        self.assertEqual(self.held(), [""])
        client.send("c", "one")
        self.assertTrue(client.rest())
        self.assertIsNotNone(items.poll())
        self.assertIsNotNone(places.poll())
        self.assertEqual(window.rows(rows, 1)[0].json, "one")

    def test_work_under_way_keeps_it_open(self):
        client = self.client()
        client.send("c", "one")
        work = client.backup(self.path + "-copy")
        self.assertFalse(client.rest())
        while not work.step(0).is_done:
            pass
        self.assertTrue(client.rest())
        check = client.check()
        self.assertTrue(client.rest())
        while not check.step(0).is_done:
            client.rest()
        self.assertFalse(tideline.Client(user_id="me").rest())

    def test_a_full_disk_keeps_it_open(self):
        client = self.client()
        client.send("c", "one")
        with faults.planted("the disk is full"), self.assertRaises(tideline.FullError):
            client.rest()
        self.assertGreater(len(self.held()), 1)
        client.send("c", "two")
        self.assertTrue(client.rest())
        with faults.planted("the disk is full"):
            self.assertEqual(texts(client), ["one", "two"])

    def test_a_file_that_is_gone_is_missed_until_it_is_back(self):
        client = self.client()
        client.send("c", "one")
        client.rest()
        shutil.copy(self.path, self.path + "-old")
        os.rename(self.path, self.path + "-kept")
        for make in (lambda: None, lambda: shutil.copy(self.path + "-old", self.path)):
            make()
            for call in (lambda: texts(client), lambda: client.send("c", "two")):
                with self.assertRaisesRegex(tideline.StorageError, "while the client rested"):
                    call()
            self.assertIsNone(client.next_frame())
        os.remove(self.path)
        os.rename(self.path + "-kept", self.path)
        client.send("c", "two")
        self.assertEqual(texts(client), ["one", "two"])

    def test_a_name_on_a_storage_rests(self):
        storage = DictStorage()
        with tideline.Client("eva", KEY, user_id="me", storage=storage) as client:
            client.send("c", "one")
            self.assertTrue(client.rest())
            client.send("c", "two")
            self.assertTrue(client.rest())
            self.assertEqual(texts(client), ["one", "two"])
            client.rest()
        with tideline.Client("eva", KEY, user_id="me", storage=storage) as client:
            self.assertEqual(texts(client), ["one", "two"])

    def test_it_is_given_up_closed_and_wiped(self):
        client = self.client()
        client.send("c", "one")
        client.rest()
        self.assertTrue(client.release())
        self.assertEqual(self.held(), [])
        with self.assertRaises(tideline.ReleasedError):
            client.rest()
        self.assertTrue(client.reacquire())
        self.assertTrue(client.rest())
        client.close()
        with self.assertRaises(tideline.ClosedError):
            client.rest()
        client = self.client()
        self.assertEqual(texts(client), ["one"])
        client.rest()
        client.wipe()
        self.assertFalse(os.path.exists(self.path))

    def test_the_file_alone_has_all(self):
        client = self.client()
        client.send("c", "one")
        client.rest()
        shutil.copy(self.path, self.path + "-copy")
        self.assertFalse(os.path.exists(self.path + "-wal"))
        with tideline.Client(self.path + "-copy", KEY, user_id="me", fresh=True) as copy:
            self.assertEqual(texts(copy), ["one"])

    def test_a_kill_loses_nothing(self):
        """Some of them while it rests, some while it closes the files or opens them again."""
        kept = []
        for kill in range(KILLS):
            with subprocess.Popen([sys.executable, "-c", WORKER, self.path, str(len(kept))],
                                  stdout=subprocess.PIPE, text=True) as worker:
                for _ in range(3 + kill % 4):
                    line = worker.stdout.readline().split()
                    if line[0] == "kept":
                        kept.append(line[1])
                worker.send_signal(signal.SIGKILL)
                kept += [line.split()[1] for line in worker.stdout.read().splitlines()
                         if line.startswith("kept") and len(line.split()) == 2]
            with tideline.Client(self.path, KEY, user_id="me", fresh=True) as client:
                found = texts(client)
            self.assertEqual(found[:len(kept)], kept)
            # One more may have been kept before it was told.
            self.assertLessEqual(len(found), len(kept) + 1)
            kept = found


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_it_rests_beside_its_loop(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            async with tideline.aio.open(path, KEY, user_id="me") as client:
                await client.send("c", "one")
                self.assertTrue(await client.rest())
                self.assertEqual(len((await client.messages("c")).messages), 1)
                self.assertTrue(await client.rest())


class Descriptors(unittest.TestCase):
    def test_the_event_has_one_when_it_is_asked_for(self):
        """header: "Gives an eventfd that is readable when there are frames to send" """
        client = tideline.Client(user_id="me")
        before = len(os.listdir("/proc/self/fd"))
        client.connected()
        client.sync("c")
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        # What was told before is told.
        self.assertEqual(select.select([client.fileno()], [], [], 0)[0], [client.fileno()])
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)
        list(client.frames())
        self.assertEqual(select.select([client.fileno()], [], [], 0)[0], [])
        out = ctypes.c_int32()
        c.library.tl_client_event_fd(client._handle, ctypes.byref(out))
        self.assertEqual(out.value, client.fileno())


if __name__ == "__main__":
    unittest.main()

"""A file that processes hand over to one another: what is held, what is told, what is lost."""

import asyncio
import contextlib
import ctypes
import os
import random
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import tideline
import tideline.aio
from tideline import _library as c, storage_check

from support import KEY, ROOT, answer, message

DictStorage = storage_check.find(f"{ROOT}/examples/storage/dict.py:DictStorage")
# make handover has many more.
ROUNDS = int(os.environ.get("TL_HANDOVERS", "200"))
HERE = os.path.dirname(os.path.abspath(__file__))
OTHER = """
import os, signal, sys, tideline
path, word = sys.argv[1:]
try:
    client = tideline.Client(path, bytes(range(32)), user_id="me", existing=True)
except tideline.TidelineError as error:
    print(type(error).__name__)
    sys.exit()
if word == "wipe":
    client.wipe()
elif word == "hold":
    print("held", flush=True)
    sys.stdin.read()
else:
    client.send("c", word)
client.close()
print("done")
"""
STOPPED = """
import os, signal, sys, tideline
client = tideline.Client(sys.argv[1], bytes(range(32)), user_id="me")
client.send("c", "one")
client.release()
os.kill(os.getpid(), signal.SIGSTOP)
client.reacquire()
print([row.json for row in client.messages("c").messages])
"""


def elsewhere(path, word="two"):
    """What another process is told that opens the file and does something with it."""
    return subprocess.run([sys.executable, "-c", OTHER, path, word], capture_output=True,
                          text=True).stdout.strip()


@contextlib.contextmanager
def holder(path):
    """Another process that has the file."""
    with subprocess.Popen([sys.executable, "-c", OTHER, path, "hold"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        yield other
        other.kill()


def is_free(path):
    try:
        tideline.Client(path, KEY, user_id="me").close()
    except tideline.LockedError:
        return False
    return True


def texts(client):
    return [row.json for row in client.messages("c", limit=1_000).messages]


class HandOver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file")

    def client(self, **more):
        client = tideline.Client(self.path, KEY, user_id="me", **more)
        self.addCleanup(client.close)
        return client

    def test_another_process_has_the_file_between(self):
        client = self.client()
        client.send("c", "one")
        seen = client.state().change_seq
        self.assertEqual(elsewhere(self.path), "LockedError")
        self.assertTrue(client.release())
        self.assertFalse(client.release())
        self.assertEqual(elsewhere(self.path), "done")
        self.assertTrue(client.reacquire())
        self.assertFalse(client.reacquire())
        self.assertEqual(texts(client), ["one", "two"])
        self.assertIn(tideline.ChangeKind.INSERTED,
                      {change.kind for change in client.changes(seen).entries})
        self.assertGreater(client.send("c", "three").number, 2)

    def test_nothing_of_the_file_is_held_after_it(self):
        client = self.client()
        client.send("c", "one")
        client.messages("c")
        client.release()
        folder, found = "/proc/self/fd", []
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.append(os.readlink(os.path.join(folder, name)))
        self.assertEqual([one for one in found if one.startswith(self.path)], [])

    def test_a_loop_rests_while_another_has_the_file(self):
        client = self.client()

        def is_readable():
            return bool(select.select([client.fileno()], [], [], 0)[0])
        client.release()
        self.assertTrue(is_readable())
        wait = ctypes.c_int64()
        self.assertEqual(c.library.tl_client_advance(client._handle, ctypes.byref(wait)),
                         tideline.Status.RELEASED)
        self.assertEqual((wait.value, is_readable()), (-1, False))

    def test_a_stopped_process_is_in_nobodys_way(self):
        with subprocess.Popen([sys.executable, "-c", STOPPED, self.path], stdout=subprocess.PIPE,
                              text=True) as app:
            self.assertTrue(os.WIFSTOPPED(os.waitpid(app.pid, os.WUNTRACED)[1]))
            self.assertEqual(elsewhere(self.path), "done")
            os.kill(app.pid, signal.SIGCONT)
            self.assertEqual(app.stdout.read().strip(), "['one', 'two']")

    def test_windows_and_lists_go_on(self):
        client = self.client()
        client.send("c", "one")
        window, places = client.window("c"), client.conversation_list()
        items = tideline.Items(window)
        for screen in (items, places):
            screen.poll()
        client.release()
        self.assertEqual(elsewhere(self.path), "done")
        client.reacquire()
        self.assertIsNotNone(items.poll())
        self.assertIsNotNone(places.poll())
        self.assertEqual([row.json for row in window.rows(0, 9)], ["one", "two"])

    def test_what_is_closed_meanwhile_is_not_counted(self):
        """A client may have 1,024 windows."""
        client = self.client()
        for _ in range(2):
            windows = [client.window("c") for _ in range(1_000)]
            client.release()
            for window in windows:
                window.close()
            client.reacquire()

    def test_each_call_that_needs_the_file_is_refused(self):
        client = self.client()
        client.send("c", "one")
        window, places = client.window("c"), client.conversation_list()
        client.search_switch(True)
        work = client.search_build()
        client.release()
        for call in (client.connected, client.disconnected, client.advance, client.next_frame,
                     client.state, client.stats, client.keys, client.wipe, client.clear,
                     window.poll, places.poll, lambda: window.rows(0, 9), lambda: work.step(0),
                     lambda: client.send("c", "x"), lambda: client.messages("c"),
                     lambda: client.window("c"), lambda: client.receive("{"),
                     lambda: client.backup(self.path + "-copy")):
            with self.assertRaises(tideline.ReleasedError):
                call()
        client.fileno()
        client.reacquire()
        self.assertEqual(texts(client), ["one"])

    def test_calls_of_other_threads_end_and_say_so(self):
        client = self.client()
        window, ends, wrong = client.window("c"), threading.Event(), []
        done = [0, 0, 0]

        def call(at, one):
            while not ends.is_set():
                try:
                    one()
                    done[at] += 1
                except tideline.ReleasedError:
                    pass
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append(error)
        calls = (lambda: client.send("c", "x"), lambda: client.messages("c"), window.poll)
        threads = [threading.Thread(target=call, args=pair) for pair in enumerate(calls)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            client.release()
            self.assertTrue(client.reacquire())
        ends.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(texts(client)), min(done[0], 1_000))

    def test_a_name_on_a_storage_is_handed_over(self):
        storage = DictStorage()
        with tideline.Client("eva", KEY, user_id="me", storage=storage) as client:
            client.send("c", "one")
            client.release()
            with tideline.Client("eva", KEY, user_id="me", storage=storage) as other:
                other.send("c", "two")
            client.reacquire()
            self.assertEqual(texts(client), ["one", "two"])

    def test_a_budget_stays(self):
        messages = [message(number) for number in range(50)]
        client = self.client()
        client.connected()
        client.sync("c")
        for frame in client.frames():
            client.receive(answer(frame, messages))
        client.retain(tideline.Budget(messages=10))
        client.release()
        client.reacquire()
        while client.advance() == 0:
            pass
        self.assertEqual(client.room().messages, 10)

    def test_a_client_without_a_file_keeps_its_connection(self):
        client = tideline.Client(user_id="me")
        client.connected()
        with self.assertRaises(tideline.UnsupportedError):
            client.release()
        self.assertNotEqual(client.state().phase, tideline.Phase.OFFLINE)

    def test_the_connection_ends_and_what_it_asked_is_asked_again(self):
        client = self.client()
        client.connected()
        number = client.sync("c")
        first = list(client.frames())
        client.release()
        client.reacquire()
        self.assertEqual(client.state().phase, tideline.Phase.OFFLINE)
        self.assertEqual(list(client.frames()), [])
        client.connected()
        second = list(client.frames())
        self.assertEqual(len(first), len(second))
        self.assertNotEqual(first[0].bytes, second[0].bytes)
        self.assertNotEqual(client.sync_status(number).phase, tideline.SyncPhase.ENDED)

    def test_it_is_closed_while_it_has_no_file(self):
        client = self.client()
        client.release()
        client.close()
        with self.assertRaises(tideline.ClosedError):
            client.reacquire()
        self.assertEqual(elsewhere(self.path), "done")

    def test_no_other_file_is_taken(self):
        client = self.client()
        client.send("c", "one")
        client.release()
        shutil.copy(self.path, self.path + "-old")
        client.reacquire()
        client.send("c", "two")
        client.release()
        os.rename(self.path, self.path + "-kept")
        with self.assertRaises(tideline.NotFoundError):
            client.reacquire()
        self.assertFalse(os.path.exists(self.path))
        shutil.copy(self.path + "-old", self.path)
        with self.assertRaises(tideline.MismatchError):
            client.reacquire()
        os.remove(self.path)
        tideline.Client(self.path, KEY, user_id="me").close()
        with self.assertRaises(tideline.MismatchError):
            client.reacquire()
        os.rename(self.path + "-kept", self.path)
        client.reacquire()
        self.assertEqual(texts(client), ["one", "two"])

    def test_a_file_that_was_wiped_is_gone(self):
        client = self.client()
        client.release()
        self.assertEqual(elsewhere(self.path, "wipe"), "done")
        with self.assertRaises(tideline.NotFoundError):
            client.reacquire()

    def test_no_key_is_asked_for_again(self):
        """The data key is kept, so it does not matter what opens the file meanwhile."""
        client = self.client()
        client.send("c", "one")
        client.release()
        with tideline.Client(self.path, KEY, user_id="me") as other:
            other.key_change(0, bytes(32))
        with self.assertRaises(tideline.WrongKeyError):
            self.client()
        client.reacquire()
        self.assertEqual(texts(client), ["one"])

    def test_who_waits_is_told(self):
        self.client().close()
        with holder(self.path) as other:
            with self.assertRaises(tideline.LockedError):
                tideline.when_free(self.path, self.client, 0.05)
            watch = tideline.file_watch(self.path)
            self.addCleanup(os.close, watch)
            # What is tried in vain wakes nobody.
            for _ in range(3):
                with self.assertRaises(tideline.LockedError):
                    self.client()
            with self.assertRaises(BlockingIOError):
                os.read(watch, 4_096)
            other.stdin.close()
            client = tideline.when_free(self.path, self.client)
            client.release()
            with holder(self.path) as last:
                with self.assertRaises(tideline.LockedError):
                    client.reacquire(0.05)
                last.kill()
                self.assertTrue(client.reacquire(60))

    def test_who_waits_for_a_file_that_another_makes_meanwhile_waits_on(self):
        others = []

        def take():
            if others:
                others[0].close()
            else:
                others.append(self.client())
            return self.client()
        self.assertEqual(texts(tideline.when_free(self.path, take)), [])

    def test_who_waits_for_a_file_that_has_no_name_yet_waits_on(self):
        """Another process makes it: it is locked, and there is nothing to watch."""
        self.client().close()
        unfinished = self.path + "-new"
        os.rename(self.path, unfinished)
        tries = []

        def take():
            tries.append(1)
            if len(tries) == 3:
                os.rename(unfinished, self.path)
            elif len(tries) < 3:
                raise tideline.LockedError(tideline.Status.LOCKED, "it is being made")
            return self.client()

        self.assertEqual(texts(tideline.when_free(self.path, take)), [])
        self.assertEqual(len(tries), 3)

    def test_a_backup_under_way_is_removed(self):
        client = self.client()
        client.send("c", "one")
        copy = self.path + "-copy"
        work = client.backup(copy)
        client.release()
        client.reacquire()
        with self.assertRaises(tideline.StorageError):
            while not work.step(0).is_done:
                pass
        self.assertEqual([name for name in os.listdir(os.path.dirname(copy)) if "copy" in name], [])

    def test_hundreds_of_hand_overs_with_kills_lose_nothing(self):
        folder = os.path.dirname(self.path)
        logs = {name: os.path.join(folder, f"{name}.log") for name in ("app", "push", "told")}
        workers, starts = {}, 0

        def lines(name):
            if not os.path.exists(logs[name]):
                return []
            with open(logs[name], encoding="utf-8") as file:
                return [line.split() for line in file.read().splitlines()]

        def rounds():
            return sum(line[0] == "got" for name in ("app", "push") for line in lines(name))

        while (done := rounds()) < ROUNDS:
            for name in ("app", "push"):
                if name in workers and workers[name].poll() is None:
                    continue
                if name in workers:
                    self.assertEqual(workers[name].returncode, -signal.SIGALRM)
                # A worker may read it at any moment, and must not find it empty.
                with open(os.path.join(folder, "pushed.new"), "w", encoding="utf-8") as file:
                    file.write(str(done))
                os.replace(file.name, os.path.join(folder, "pushed"))
                starts += 1
                workers[name] = subprocess.Popen(
                    [sys.executable, os.path.join(HERE, "handover_worker.py"), folder, name,
                     str(random.uniform(0.3, 1.5))])
            with contextlib.suppress(subprocess.TimeoutExpired):
                workers["app"].wait(0.05)
        with open(os.path.join(folder, "end"), "w", encoding="utf-8"):
            pass
        for worker in workers.values():
            worker.wait()
        known = [line for name in ("app", "push") for line in lines(name)]
        self.assertEqual([line for line in known if line[0] == "wrong"], [])
        with tideline.Client(self.path, KEY, user_id="me", existing=True) as client:
            found = {row.json for row in client.messages("c", limit=10_000).messages}
        stored = {line[1] for line in known if line[0] == "stored"}
        self.assertGreater(len(stored), ROUNDS)
        self.assertEqual(stored - found, set())
        told = [line[0] for line in lines("told")]
        self.assertEqual(len(told), len(set(told)))
        print(f"hand-overs: {rounds()}, killed {starts - 2}, stored {len(stored)}, "
              f"told {len(told)}, {self.pace(lines)}")

    def pace(self, lines):
        """From where one lets go to where the other one, which had asked before, has it."""
        left, waits = [], []
        for name in ("app", "push"):
            left += [(int(line[1]), name) for line in lines(name) if line[0] == "leaves"]
        left.sort()
        for name in ("app", "push"):
            asked = None
            for line in lines(name):
                if line[0] == "wants":
                    asked = int(line[1])
                elif line[0] == "got" and asked is not None:
                    got = int(line[1])
                    since = [at for at, who in left if who != name and asked < at < got]
                    waits += [(got - since[-1]) / 1e6] if since else []
                    asked = None
        if not waits:
            return "none was waited for"
        return (f"{len(waits)} waited for: median {statistics.median(waits):.1f} ms, "
                f"greatest {max(waits):.1f} ms")


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_iterators_pause_while_the_file_is_given_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            async with tideline.aio.open(path, KEY, user_id="me") as client:
                await client.send("c", "one")
                seen = (await client.state()).change_seq
                changes = client.changes(seen)
                next_one = asyncio.ensure_future(anext(changes))
                self.assertTrue(await client.release())
                self.assertFalse(await client.release())
                with self.assertRaises(tideline.ReleasedError):
                    await client.messages("c")
                told = await asyncio.to_thread(elsewhere, path)
                self.assertEqual(told, "done")
                self.assertFalse(next_one.done())
                self.assertTrue(await client.reacquire())
                self.assertGreater((await next_one).seq, seen)
                self.assertEqual(len((await client.messages("c")).messages), 2)
                await changes.aclose()
                await client.release()

    async def opened(self, **more):
        folder, client = tempfile.TemporaryDirectory(), contextlib.AsyncExitStack()
        self.addCleanup(folder.cleanup)
        self.addAsyncCleanup(client.aclose)
        self.path = os.path.join(folder.name, "file")
        return await client.enter_async_context(
            tideline.aio.open(self.path, KEY, user_id="me", **more))

    async def test_a_cancelled_release_goes_on(self):
        client = await self.opened()
        for steps in range(1, 8):
            release = asyncio.ensure_future(client.release())
            for _ in range(steps):
                await asyncio.sleep(0)
            release.cancel()
            await asyncio.wait({release})
            self.assertFalse(await client.release())
            self.assertTrue(is_free(self.path))
            self.assertTrue(await client.reacquire())
            await client.state()

    async def test_a_cancelled_reacquire_takes_nothing(self):
        client = await self.opened()
        await client.release()
        begun, take = threading.Event(), client.plain.reacquire

        def told(*arguments):
            begun.set()
            return take(*arguments)
        with (tideline.Client(self.path, KEY, user_id="me"),
              unittest.mock.patch.object(client.plain, "reacquire", told)):
            reacquire = asyncio.ensure_future(client.reacquire(60))
            await asyncio.to_thread(begun.wait)
            reacquire.cancel()
            await asyncio.wait({reacquire})
        self.assertTrue(reacquire.cancelled())
        # What the worker thread had to do before was done.
        await client.call(lambda: None)
        self.assertTrue(is_free(self.path))
        self.assertFalse(await client.release())
        self.assertTrue(is_free(self.path))
        self.assertTrue(await client.reacquire())
        await client.state()

    async def test_a_reacquire_that_is_cancelled_as_it_takes_the_file_gives_it_up(self):
        client = await self.opened()
        await client.release()
        begun, ends, take = threading.Event(), threading.Event(), client.plain.reacquire

        def slow(*arguments):
            begun.set()
            ends.wait()
            return take(*arguments)
        with unittest.mock.patch.object(client.plain, "reacquire", slow):
            reacquire = asyncio.ensure_future(client.reacquire(60))
            await asyncio.to_thread(begun.wait)
            reacquire.cancel()
            await asyncio.wait({reacquire})
            ends.set()
            self.assertFalse(await client.release())
        self.assertTrue(is_free(self.path))
        self.assertTrue(await client.reacquire())
        await client.state()

    async def test_who_waits_for_a_file_is_woken_and_leaves_the_thread_free(self):
        client = await self.opened()
        await client.release()
        held = len(os.listdir("/proc/self/fd"))
        with unittest.mock.patch.object(tideline.handover, "LOOK_S", 3_600.0):
            with tideline.Client(self.path, KEY, user_id="me"):
                reacquire = asyncio.ensure_future(client.reacquire(30))
                await asyncio.sleep(0)
                await client.call(lambda: None)
                self.assertFalse(reacquire.done())
            self.assertTrue(await reacquire)
        await client.release()
        self.assertEqual(len(os.listdir("/proc/self/fd")), held)

    async def test_who_leaves_does_not_wait_for_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            async with tideline.aio.open(path, KEY, user_id="me") as client:
                await client.release()
                other = tideline.Client(path, KEY, user_id="me")
                self.addCleanup(other.close)
                reacquire = asyncio.ensure_future(client.reacquire(30))
                await asyncio.sleep(0)
                await client.call(lambda: None)
            with self.assertRaises(tideline.ClosedError):
                await reacquire

    async def test_one_hand_over_at_a_time(self):
        class Silent:
            async def send(self, frame):
                pass

            async def receive(self):
                await asyncio.Event().wait()

            async def close(self):
                pass

        async def connect():
            return Silent()
        client = await self.opened(connect=connect)
        connections = client.connections()
        made = await anext(connections)
        self.assertEqual(await asyncio.gather(client.release(), client.reacquire()), [True, True])
        self.assertGreater(await anext(connections), made)
        await client.state()
        self.assertEqual(
            await asyncio.gather(client.release(), client.release(), client.reacquire(),
                                 client.reacquire(), client.release()),
            [True, False, True, False, True])
        self.assertTrue(is_free(self.path))

    async def test_a_release_ends_a_reacquire_that_waits(self):
        client = await self.opened()
        await client.release()
        other, tries = tideline.Client(self.path, KEY, user_id="me"), []
        take = client.plain.reacquire

        def counted():
            tries.append(None)
            if len(tries) == 100:
                other.close()
            return take()
        with (unittest.mock.patch.object(client.plain, "reacquire", counted),
              unittest.mock.patch.object(tideline.handover, "LOOK_S", 0.001)):
            reacquire = asyncio.ensure_future(client.reacquire(3_600))
            await asyncio.sleep(0)
            self.assertFalse(await client.release())
            with self.assertRaises(tideline.LockedError):
                await reacquire
        other.close()
        self.assertTrue(is_free(self.path))
        self.assertTrue(await client.reacquire())

    async def test_changes_that_are_asked_for_while_the_file_is_given_up_pause(self):
        client = await self.opened()
        await client.release()
        for changes in client.changes(), client.changes(0):
            found = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)
            await client.call(lambda: None)
            self.assertFalse(found.done())
            await client.reacquire()
            while not found.done():
                await client.send("c", "one")
            self.assertGreater((await found).seq, 0)
            await changes.aclose()
            await client.release()


if __name__ == "__main__":
    unittest.main()

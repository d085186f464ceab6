"""What the Python package adds to the library: errors, words, times, and the cost of lists."""

import array
import contextlib
import copy
import datetime
import io
import json
import logging
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tempfile
import unittest

import tideline
from tideline import _library
from tideline._kept import Kept, summed
from tideline.views import Diff, Op

from support import KEY, message


def push(client, number, **more):
    client.receive(json.dumps({"type": "message_new", "message": message(
        number, **{"created_at": f"2024-05-{1 + number // 86_400:02}T"
                   f"{number // 3_600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}", **more})}))


class Errors(unittest.TestCase):
    def test_an_error_goes_through_pickle_and_copy(self):
        error = tideline.NotFoundError(tideline.Status.NOT_FOUND, "no such message")
        moved = tideline.ResyncError(tideline.Status.RESYNC, "older ones are gone", 7)
        for one in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            self.assertIs(type(one), tideline.NotFoundError)
            self.assertEqual((one.status, str(one)), (error.status, str(error)))
        self.assertEqual(str(error), "no such message (TL_E_NOT_FOUND)")
        self.assertEqual(pickle.loads(pickle.dumps(moved)).change_seq, 7)

    def test_every_error_of_a_call_goes_through_pickle(self):
        with tideline.Client(user_id="me") as client, self.assertRaises(
                tideline.NotFoundError) as caught:
            client.message("c", "nobody")
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))

    def test_an_error_is_printed_once(self):
        """A program that sets up no logging sees the exception, and no line beside it."""
        program = ("import tideline\n"
                   "with tideline.Client(user_id='me') as client:\n"
                   "    client.receive('no JSON')\n")
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(told.returncode, 1)
        self.assertEqual(told.stderr.count("not JSON"), 1, told.stderr)

    def loaded(self, library):
        return subprocess.run(
            [sys.executable, "-c", "import tideline"], capture_output=True, text=True,
            env={**os.environ, "TIDELINE_LIBRARY": library}).stderr.splitlines()[-1]

    def test_a_library_that_is_not_there_is_named(self):
        said = self.loaded("/nowhere/libtideline.so.1")
        self.assertRegex(said, "^ImportError: TIDELINE_LIBRARY names /nowhere/.*cannot be loaded")
        self.assertNotIn("was not found; name it", said)

    def test_another_library_is_no_attribute_error(self):
        self.assertRegex(self.loaded("libc.so.6"), "^ImportError: libc.so.6 is not Tideline: .*"
                         "name the path of libtideline.so.1")

    def test_a_library_of_another_version(self):
        """One that lacks a function, and one of another generation."""
        class Library:
            class tl_abi:
                def __new__(cls):
                    return _library.TL_ABI
        with self.assertRaisesRegex(ImportError, "is older than this package: it has no function"):
            _library._checked(Library(), "old.so")
        Library.tl_abi = type("abi", (), {"__new__": lambda cls: 99})
        with self.assertRaisesRegex(ImportError, "is of generation 99, and this package needs"):
            _library._checked(Library(), "new.so")


class Reasons(unittest.TestCase):
    def said(self, call, *arguments, **named):
        with self.assertRaises(tideline.TidelineError) as caught:
            call(*arguments, **named)
        return str(caught.exception)

    def test_a_folder_that_is_missing_is_told(self):
        self.assertEqual(
            self.said(tideline.Client, "/nowhere/file", KEY, user_id="me"),
            "the file cannot be opened; no folder, no permission or no possible name (code 14) "
            "(TL_E_STORAGE)")

    def test_the_part_of_a_send_that_is_wrong_is_named(self):
        with tideline.Client(user_id="me") as client:
            self.assertIn("payload is not JSON; a text goes in quotes",
                          self.said(client.send, "c", b"ahoj"))
            self.assertIn("metadata is not JSON",
                          self.said(client.send, "c", "ahoj", metadata=b"{"))
            self.assertIn("the request is not JSON", self.said(client.perform, b"{"))


class Values(unittest.TestCase):
    def test_a_number_of_the_header_prints_as_a_word(self):
        self.assertEqual(str(tideline.Phase.CATCHING_UP), "catching_up")
        self.assertEqual(f"{tideline.Phase.OFFLINE:>8}|{tideline.Phase.UP_TO_DATE:d}", " offline|2")
        self.assertEqual(f"{tideline.Status.NOT_FOUND}", "not_found")
        flags = tideline.MessageFlags.MINE | tideline.MessageFlags.UNREAD
        self.assertEqual((str(flags), f"{flags:d}"), ("mine|unread", "3"))
        self.assertEqual(str(tideline.MessageFlags(0)), "")
        self.assertEqual(tideline.Phase.OFFLINE, 0)

    def test_every_enumeration_of_the_package_prints_words(self):
        import enum
        plain = [name for name in tideline.__all__
                 if isinstance(kind := getattr(tideline, name), enum.EnumMeta)
                 and str(next(iter(kind))).lstrip("-").isdigit()]
        self.assertEqual(plain, [])

    def test_times_reactions_and_readers(self):
        with tideline.Client(user_id="me") as client:
            client.connected()
            push(client, 1, read_by=[{"user_id": "a"}, "b"], delivered_by=["d"],
                 reactions={"+": ["a", "b"], "!": []}, edited_at="2024-05-02T00:00:00.5")
            row = client.message("c", "m1")
            utc = datetime.timezone.utc
            self.assertEqual(row.time, datetime.datetime(2024, 5, 1, 0, 0, 1, tzinfo=utc))
            self.assertEqual(row.edited, datetime.datetime(2024, 5, 2, 0, 0, 0, 500_000, utc))
            self.assertEqual(row.reactions, (
                tideline.Reaction("+", ("a", "b")), tideline.Reaction("!", ())))
            self.assertEqual(row.read_by, (tideline.Reader("a"), tideline.Reader("b")))
            self.assertEqual((row.delivered_by, row.listened_by), ((tideline.Reader("d"),), ()))
            self.assertEqual(client.conversation("c").activity, row.time)
            self.assertEqual(pickle.loads(pickle.dumps(row)), row)

    def test_a_time_that_no_datetime_can_be_is_none(self):
        for us in (None, 0, -(1 << 63), (1 << 63) - 1):
            self.assertIsNone(tideline.Gap(0, False, us, us).low)
        self.assertEqual(tideline.Gap(0, False, 1_000_001, 0).low.microsecond, 1)

    def test_hold_ms_is_that_of_the_header(self):
        """0 is the library's second, and HOLD_NONE draws each gap at once."""
        told = []
        true = tideline.client.Window
        tideline.client.Window = lambda client, config: told.append(config.hold_ms)
        self.addCleanup(setattr, tideline.client, "Window", true)
        with tideline.Client(user_id="me") as client:
            client.window("c")
            client.window("c", hold_ms=0)
            client.window("c", hold_ms=tideline.HOLD_NONE)
        self.assertEqual(told, [0, 0, 0xFFFFFFFF])


class KeyFiles(unittest.TestCase):
    def test_a_key_that_is_text_is_told_what_is_wanted(self):
        for key, kind in (("k" * 32, "str"), (7, "int"), (bytearray(32), "bytearray")):
            with self.assertRaisesRegex(
                    TypeError, f"^the key is 32 random bytes, of type bytes, and not {kind}; "
                               r"tideline\.key_file\(path\) makes and reads one$"):
                tideline.Client("a.tideline", key, user_id="me")
        self.assertFalse(os.path.exists("a.tideline"))

    def test_nobody_else_reads_a_key_file(self):
        """Not for a moment: it is created so, with any mask of the process."""
        self.addCleanup(os.umask, os.umask(0))
        seen, true = [], os.open

        def watched(path, flags, mode=0o777, **more):
            descriptor = true(path, flags, mode, **more)
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return descriptor
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "file.key")
            os.open = watched
            try:
                key = tideline.key_file(path)
            finally:
                os.open = true
            self.assertEqual(seen, [0o600])
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertEqual(len(key), tideline.KEY_BYTES)
            self.assertEqual(tideline.key_file(path), key)
            self.assertEqual(os.listdir(folder), ["file.key"])
            path.write_bytes(b"short")
            with self.assertRaisesRegex(ValueError, "holds 5 bytes, and a key has 32"):
                tideline.key_file(path)

    def test_another_program_that_makes_it_meanwhile_is_faster(self):
        with tempfile.TemporaryDirectory() as folder:
            path, true = pathlib.Path(folder, "file.key"), os.urandom

            def slow(size):
                path.write_bytes(b"k" * size)
                return true(size)
            os.urandom = slow
            try:
                self.assertEqual(tideline.key_file(path), b"k" * tideline.KEY_BYTES)
            finally:
                os.urandom = true


class Lists(unittest.TestCase):
    def test_what_a_difference_costs_does_not_grow_with_the_list(self):
        """Lines of Python that one new message takes, in a list of 200 and in one of 4,000."""
        with tideline.Client(user_id="me") as client:
            client.connected()
            lines = []
            for count in (200, 4_000):
                for number in range(len(lines) * 200, count):
                    push(client, number)
                window = client.window("c", count=1_000, rows_max=10_000)
                rows, items = tideline.Rows(window), tideline.Items(window)
                rows.poll()
                while len(rows.messages) < count and window.before(1_000, past_gaps=True):
                    rows.poll()
                items.update()
                self.assertEqual((len(rows.messages), len(items.current)), (count, count))
                push(client, 90_000 + count)
                lines.append((self.lines(rows.poll), self.lines(items.update)))
                self.assertEqual(len(rows.messages), count + 1)
                self.assertEqual(len(items.current), count + 1)
        self.assertLess(max(map(max, lines)), 300, lines)

    def lines(self, work):
        count = 0

        def trace(frame, event, _):
            nonlocal count
            count += event == "line"
            return trace
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(None)
        return count

    def kept(self, count):
        kept = Kept()
        content = list(range(1, count + 1))
        kept.bring(self.diff(0, content, Op(1, 0, 0, count)), self.reader(content), int)
        return kept, content

    def diff(self, version, content, *ops):
        return Diff(version, version + 1, summed(array.array("Q", content)), len(content), ops)

    def reader(self, content, cut=3):
        """Reads as a window does whose answers are cut."""
        return lambda first, count: content[first:first + min(count, cut)]

    def test_each_kind_of_step(self):
        kept, content = self.kept(10)
        before = kept.rows
        moved = [1, 3, 4, 99, 5, 6, 98, 97, 8, 9, 10, 7]
        steps = (Op(2, 1, 0, 1), Op(1, 3, 0, 1), Op(1, 6, 0, 2), Op(4, 11, 8, 1), Op(3, 0, 0, 2))
        kept.bring(self.diff(1, moved, *steps), self.reader(moved), int)
        self.assertEqual(kept.rows, moved)
        self.assertEqual(before, content)

    def test_a_failed_read_changes_nothing_and_the_next_difference_reads_all(self):
        kept, content = self.kept(10)

        def fail(first, count):
            raise OSError("the disk")
        with self.assertRaises(OSError):
            kept.bring(self.diff(1, [*content, 11], Op(1, 10, 0, 1)), fail, int)
        self.assertEqual(kept.rows, content)
        now = [*content, 11, 12]
        kept.bring(self.diff(2, now, Op(1, 11, 0, 1)), self.reader(now), int)
        self.assertEqual(kept.rows, now)

    def test_a_wrong_list_is_no_list(self):
        kept, content = self.kept(3)
        with self.assertRaises(AssertionError):
            kept.bring(self.diff(1, [1, 2, 3, 4], Op(1, 3, 0, 1)), self.reader([1, 2, 3, 5]), int)
        with self.assertRaises(AssertionError):
            kept.bring(self.diff(1, [1, 2, 3, 4], Op(1, 3, 0, 1)), self.reader([]), int)
        self.assertEqual(kept.rows, content)


class Logs(unittest.TestCase):
    def test_a_program_that_sets_up_logging_sees_the_lines(self):
        lines = io.StringIO()
        handler = logging.StreamHandler(lines)
        logger = logging.getLogger("tideline")
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        with tideline.Client(user_id="me") as client:
            with contextlib.suppress(tideline.FrameError):
                client.receive("no JSON")
        self.assertIn("not JSON", lines.getvalue())

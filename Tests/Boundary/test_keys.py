"""Keys from Python: each kind opens, is changed while open, and is listed without a key."""

import pathlib
import tempfile
import threading
import unittest

import tideline
from tideline import KeyKind, KeySlot

from support import KEY, header_sum, message, take, Server

QUICK = {"operations": 1, "memory_bytes": 1 << 20}


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "keys.tideline"

    def open(self, key=KEY, kind=KeyKind.RAW):
        client = tideline.Client(self.path, key, key_kind=kind, user_id="me", log=lambda *_: None)
        self.addCleanup(client.close)
        return client

    def test_each_kind_opens(self):
        """What was stored is there by each key, and by none that was removed."""
        code = tideline.recovery_code()
        with self.open() as client:
            server = Server()
            server.messages = [message(1)]
            client.connected()
            client.sync("c")
            take(client, server)
            rows = [one.id for one in client.messages("c").messages]
            self.assertEqual(client.key_add("žluťoučký kůň", KeyKind.PASSPHRASE, label="Eva's",
                                            **QUICK), 1)
            self.assertEqual(client.key_add(code, KeyKind.CODE, label="printed"), 2)
            slots = client.keys()
            client.key_remove(0)
        self.assertEqual(slots, (
            KeySlot(0, KeyKind.RAW, "", 0, 0), KeySlot(1, KeyKind.PASSPHRASE, "Eva's", 1, 1 << 20),
            KeySlot(2, KeyKind.CODE, "printed", 0, 0)))
        self.assertEqual(tideline.keys(self.path), slots[1:])
        for key, kind in (("žluťoučký kůň", KeyKind.PASSPHRASE), (code, KeyKind.CODE),
                          (f" {code.lower().replace('0', 'o')}\n", KeyKind.CODE)):
            with self.open(key, kind) as client:
                self.assertEqual([one.id for one in client.messages("c").messages], rows)
        for key, kind, error in ((KEY, KeyKind.RAW, tideline.NoSlotError),
                                 ("horse", KeyKind.PASSPHRASE, tideline.WrongKeyError),
                                 (tideline.recovery_code(), KeyKind.CODE, tideline.WrongKeyError),
                                 (code[:-1], KeyKind.CODE, tideline.CodeError),
                                 ("", KeyKind.CODE, tideline.CodeError)):
            with self.assertRaises(error) as caught:
                self.open(key, kind)
            self.assertIs(type(caught.exception), error)

    def test_a_new_file_takes_any_kind(self):
        with self.open("horse", KeyKind.PASSPHRASE) as client:
            self.assertEqual(client.keys(), (KeySlot(0, KeyKind.PASSPHRASE, "", 3, 64 << 20),))
            client.key_change(0, "battery", KeyKind.PASSPHRASE, label="new", **QUICK)
        self.assertEqual([one.label for one in tideline.keys(self.path)], ["new"])
        with self.assertRaises(tideline.WrongKeyError):
            self.open("horse", KeyKind.PASSPHRASE)
        self.open("battery", KeyKind.PASSPHRASE)

    def test_lists_are_told_from_files_without_one(self):
        with self.assertRaises(tideline.NotFoundError):
            tideline.keys(self.path)
        self.path.write_text("hello")
        with self.assertRaises(tideline.NotOursError):
            tideline.keys(self.path)
        with tideline.Client(user_id="me") as client, \
                self.assertRaises(tideline.UnsupportedError):
            client.keys()

    def test_a_label_is_text_whatever_the_file_says(self):
        """Who lists a file has not opened it: any bytes may stand there."""
        self.open().close()
        data = bytearray(self.path.read_bytes())
        for copy in (0, 4_096):
            data[copy + 64 + 104:copy + 64 + 108] = b"\xff\xfe\xc3\x28"
            data[copy + 4_064:copy + 4_096] = header_sum(data[copy:copy + 4_064])
        self.path.write_bytes(data)
        self.assertEqual(tideline.keys(self.path), (KeySlot(0, KeyKind.RAW, "", 0, 0),))
        with self.assertRaises(tideline.DamagedError):
            self.open()

    def test_a_kind_of_a_later_version_is_a_greater_one(self):
        """header: "A greater one is of a later version"."""
        self.open().close()
        for kind in (4, 0x8000_0001, 0xFFFF_FFFF):
            data = bytearray(self.path.read_bytes())
            for copy in (0, 4_096):
                data[copy + 64 + 160:copy + 64 + 164] = kind.to_bytes(4, "little")
                data[copy + 4_064:copy + 4_096] = header_sum(data[copy:copy + 4_064])
            self.path.write_bytes(data)
            self.assertEqual(tideline.keys(self.path)[1].kind, min(kind - 1, 2**31 - 1))

    def test_a_number_that_c_would_cut_is_refused(self):
        with self.open() as client:
            client.key_add("horse", KeyKind.PASSPHRASE, **QUICK)
            before = client.keys()
            for slot in (2**32, 2**32 + 1, -1):
                with self.assertRaises(ValueError):
                    client.key_remove(slot)
                with self.assertRaises(ValueError):
                    client.key_change(slot, b"k" * 32)
            for more in ({"operations": 2**32 + 1}, {"memory_bytes": 2**64 + 2**20}):
                with self.assertRaises(ValueError):
                    client.key_add("x", KeyKind.PASSPHRASE, **more)
            self.assertEqual(client.keys(), before)

    def test_calls_go_on_while_a_key_is_made(self):
        """header: "other calls do not wait while a passphrase is made slow to guess"."""
        client = self.open()
        done = threading.Event()

        def add():
            client.key_add("horse", KeyKind.PASSPHRASE, operations=16, memory_bytes=128 << 20)
            done.set()
        thread = threading.Thread(target=add)
        thread.start()
        calls = 0
        while not done.is_set():
            client.draft("c", str(calls))
            calls += not done.is_set()
        thread.join()
        # One that waited would have let in the first call or two alone.
        self.assertGreater(calls, 10)
        self.assertEqual(len(client.keys()), 2)


if __name__ == "__main__":
    unittest.main()

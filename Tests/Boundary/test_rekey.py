"""A new data key from Python: what was erased is read by nobody, and a file survives whatever comes
in between. What can be decrypted is read by the independent reader of the file format."""

import json
import pathlib
import secrets
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import tideline
from tideline import storage_check

from support import KEY, ROOT, Server, take
from test_import import finish, lines, message

sys.path.insert(0, str(ROOT / "Tests" / "VaultTests"))
import read_vault  # noqa: E402

PAGE, FRAME = read_vault.PAGE, read_vault.FRAME
DictStorage = storage_check.find(f"{ROOT / 'examples' / 'storage' / 'dict.py'}:DictStorage")
MAIN, LOG, OWN, NEXT = (int(one) for one in tideline.Object)


def header_of(data):
    copies = [copy for copy in (data[:PAGE], data[PAGE:2 * PAGE]) if read_vault.is_sound(copy)]
    return max(copies, key=lambda copy: struct.unpack_from("<I", copy, 12)[0])


def decrypted(path, key=KEY, blocks=()):
    """The text of every page, frame and header of the log that `key` opens: also of frames that
    later ones replace, of unused pages, and of other blocks of the disk."""
    data = path.read_bytes()
    header = header_of(data)
    units = read_vault.Units(header, read_vault.data_key(header, 1, key))
    log = pathlib.Path(f"{path}-wal")
    logs = [block for block in blocks if len(block) % PAGE] + (
        [log.read_bytes()] if log.exists() else [])
    texts = []
    for pages in [data, *(block for block in blocks if len(block) % PAGE == 0)]:
        for number in range(1, len(pages) // PAGE - 1):
            page = pages[(number + 1) * PAGE:(number + 2) * PAGE]
            texts.append(units.open(page, 1, 0x50, number))
    for frames in logs:
        for number in range(1, (len(frames) - 72) // FRAME + 1):
            frame = frames[72 + (number - 1) * FRAME:72 + number * FRAME]
            lead = units.lead(frame, number)
            if lead:
                texts.append(lead)
                texts.append(units.open(frame[48:], 1, 0x50, struct.unpack(">I", lead[:4])[0]))
    return b"\n".join(text for text in texts if text)


def found(words, text):
    """How many of the words a text has; of each the end, since an index has them in order, the
    beginning of each once."""
    return sum(word[5:].encode() in text for word in words)


CHILD = """
import sys, tideline
client = tideline.Client(sys.argv[1], %r, user_id="me")
work = client.rekey(sys.argv[2])
print("begun", flush=True)
sys.stdin.readline()
while True:
    done = work.step(0).is_done
    print("done" if done else "step", flush=True)
    sys.stdin.readline()
""" % KEY


class Planting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "eva.tideline"

    def open(self, path=None, key=KEY, **more):
        client = tideline.Client(path or self.file, key, user_id="me", log=lambda *_: None, **more)
        self.addCleanup(client.close)
        return client

    def texts(self, client, room="c"):
        return [one.payload for one in client.messages(room, limit=10_000).messages]

    def fill(self, client, room, numbers, name="old"):
        finish(client.import_messages(lines(message(n, room) for n in numbers), name))

    def plant(self, client):
        """A thousand words in messages, an index, operations, a draft, unreadable items, events."""
        words = [secrets.token_hex(8) for _ in range(1_000)]
        rest = iter(words)
        client.search_switch(True)
        self.fill(client, "kept", range(500))
        planted = [next(rest) for _ in range(900)]
        for part in range(0, 900, 90):
            source = lines(
                message(part + n, "gone", payload={"text": f"{word} and more"})
                for n, word in enumerate(planted[part:part + 90]))
            finish(client.import_messages(source, f"gone {part}"))
            # Between them, so that pages of both are neighbours.
            self.fill(client, "kept", range(1_000 + part, 1_090 + part), f"kept {part}")
        finish(client.search_build())
        server = Server()
        client.connected()
        for _ in range(30):
            client.send("gone", json.dumps({"text": next(rest)}))
        take(client, server)
        client.disconnected()
        for _ in range(30):
            client.send("gone", json.dumps({"text": next(rest)}))
        client.draft("gone", next(rest))
        client.perform({"type": "edit_message", "conversation_id": "gone", "message_id": "m000003",
                        "payload": {"text": next(rest)}})
        client.connected()
        for number in range(4):
            client.receive(json.dumps({
                "type": "message_new", "conversation_id": "gone", "message": {
                    **message(7_000 + number, "gone"), "created_at": "never",
                    "payload": next(rest)}}))
            client.receive(json.dumps({"type": "update", "payload": {
                "ref": f"r{number}", "action": "new", "payload": {"entity": "member", "items": [{
                    "conversation_id": "gone", "user_id": f"u{number}", "name": next(rest)}]}}}))
        client.disconnected()
        left = list(rest)
        finish(client.import_messages(lines(
            message(5_000 + n, "gone", payload=word) for n, word in enumerate(left)), "last"))
        return words


class Rekey(Planting):
    def names(self):
        return sorted(one.name for one in self.folder.iterdir())

    def test_nothing_of_it_is_left(self):
        client = self.open()
        words = self.plant(client)
        kept = self.texts(client, "kept")
        self.assertEqual(found(words, decrypted(self.file)), 1_000)
        # Rows that move leave bytes in the gaps of their pages.
        for number in range(0, 900, 3):
            client.drop("gone", f"m{number:06}")
        old = [self.file.open("rb"), pathlib.Path(f"{self.file}-wal").open("rb")]
        for one in old:
            self.addCleanup(one.close)
        before = [one.read() for one in old]
        work = client.rekey("gone")
        self.assertIsNone(work.receipt())
        self.assertGreater(finish(work), 3)
        receipt = work.receipt()
        self.assertEqual((receipt.files, receipt.conversations), (1, 1))
        self.assertEqual(receipt.operations, 61)
        self.assertGreater(receipt.messages, 600)
        self.assertGreater(receipt.items, 0)
        self.assertGreater(receipt.bytes, 600 * 16)
        self.assertEqual(receipt.file_bytes, self.file.stat().st_size)
        self.assertEqual(self.texts(client, "kept"), kept)
        self.assertEqual(client.search(words[0]).hits, ())
        # In the file, its log, what the disk has of the old ones, and a backup made now.
        blocks = before[:]
        for one in old:
            one.seek(0)
            blocks.append(one.read())
        for copy in (0, PAGE):
            # Between the two lies the mark of the log, sealed.
            self.assertEqual(blocks[2][copy + 64:copy + 2048], bytes(1984))
            self.assertEqual(blocks[2][copy + 2120:copy + 4064], bytes(1944))
        now = decrypted(self.file, blocks=blocks)
        self.assertEqual(found(words, now), 0)
        self.assertIn(b"text 499", now)
        copy = self.folder / "backup"
        finish(client.backup(copy))
        self.assertEqual(found(words, decrypted(copy)), 0)
        # It goes on, and may be fetched again.
        self.fill(client, "gone", range(20), "again")
        self.assertEqual(len(self.texts(client, "gone")), 20)
        client.close()
        client = self.open()
        self.assertEqual(found(words, decrypted(self.file)), 0)
        self.assertEqual(self.texts(client, "kept"), kept)
        self.assertEqual(self.names(), ["backup", "eva.tideline", "eva.tideline-wal"])

    def test_beside_reads_and_writes(self):
        client = self.open()
        self.fill(client, "c", range(3_000))
        client.key_add("a horse", tideline.KeyKind.PASSPHRASE, operations=1, memory_bytes=1 << 20)
        window = client.window("c")
        work = client.rekey()
        steps, written = 0, 3_000
        while not (progress := work.step(0)).is_done:
            steps += 1
            self.fill(client, "c", range(written, written + 20), f"more {steps}")
            written += 20
            self.assertEqual(len(self.texts(client)), written)
            window.poll()
            self.assertLess(progress.done, progress.total + 1)
        self.assertGreater(steps, 2)
        self.assertEqual(work.receipt().messages, 0)
        client.send("c", "afterwards")
        self.assertEqual(len(self.texts(client)), written + 1)
        client.close()
        with tideline.Client(self.file, "a horse", key_kind=tideline.KeyKind.PASSPHRASE,
                             user_id="me") as again:
            self.assertEqual(len(self.texts(again)), written + 1)
        self.assertEqual(self.names(), ["eva.tideline", "eva.tideline-own"])

    def test_a_kill_at_each_step(self):
        with self.open() as client:
            self.fill(client, "c", range(2_000))
            self.fill(client, "gone", range(300), "gone")
            before = self.texts(client)
        keys = set()
        for steps in range(40):
            whole = self.file.read_bytes()
            with subprocess.Popen(
                    [sys.executable, "-c", CHILD, self.file, "gone"], text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
                said = child.stdout.readline()
                for _ in range(steps):
                    child.stdin.write("\n")
                    child.stdin.flush()
                    said = child.stdout.readline()
                    if said == "done\n":
                        break
                child.send_signal(signal.SIGKILL)
            client = self.open()
            self.assertEqual(self.texts(client), before, steps)
            with self.assertRaises(tideline.NotFoundError):
                client.conversation("gone")
            client.close()
            self.assertEqual(self.names(), ["eva.tideline"], steps)
            keys.add(header_of(self.file.read_bytes())[16:32])
            if said == "done\n":
                break
            self.file.write_bytes(whole)
        self.assertGreater(steps, 3)
        self.assertEqual(len(keys), 2)

    def test_a_second_process_never_gets_it(self):
        client = self.open()
        self.fill(client, "c", range(2_000))
        look = ("import sys, tideline\nfor line in sys.stdin:\n try:\n"
                "  tideline.Client(sys.argv[1], bytes(range(32)), user_id='me').close()\n"
                "  print('opened', flush=True)\n"
                " except tideline.LockedError: print('locked', flush=True)\n")
        with subprocess.Popen([sys.executable, "-c", look, self.file], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            work = client.rekey()
            is_done = False
            while not is_done:
                is_done = work.step(0).is_done
                other.stdin.write("\n")
                other.stdin.flush()
                self.assertEqual(other.stdout.readline(), "locked\n")
            client.close()
            other.stdin.write("\n")
            other.stdin.flush()
            self.assertEqual(other.stdout.readline(), "opened\n")
            other.stdin.close()

    def test_a_full_disk_leaves_the_file(self):
        with self.open() as client:
            self.fill(client, "c", range(2_000))
            before = self.texts(client)
        key = header_of(self.file.read_bytes())[16:32]
        # A file may not become longer than this.
        most = self.file.stat().st_size // 2
        child = f"""
import resource, sys, tideline
client = tideline.Client(sys.argv[1], {KEY!r}, user_id="me")
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
work = client.rekey()
try:
    while not work.step(0).is_done: pass
except tideline.FullError:
    client.draft("c", "goes on")
    print(len(client.messages("c", limit=10_000).messages))
"""
        said = subprocess.run([sys.executable, "-c", child, self.file], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.assertEqual(said, f"{len(before)}\n")
        # It has a draft now.
        self.assertEqual(self.names(), ["eva.tideline", "eva.tideline-own"])
        client = self.open()
        self.assertEqual(self.texts(client), before)
        self.assertEqual(client.conversation("c").draft, b"goes on")
        self.assertEqual(header_of(self.file.read_bytes())[16:32], key)

    def test_what_is_refused(self):
        client = self.open()
        self.fill(client, "c", range(300))
        with self.assertRaises(tideline.NotFoundError):
            client.rekey("nowhere")
        other = self.folder / "eva.tideline-new"
        apart = self.folder / "another.tideline"
        with self.open(apart) as one:
            one.draft("c", "its own")
        apart.rename(other)
        whole = other.read_bytes()
        for erase in ("", "c"):
            with self.assertRaises(tideline.InvalidError):
                client.rekey(erase)
        self.assertEqual(len(self.texts(client)), 300)
        self.assertEqual(other.read_bytes(), whole)
        client.close()
        self.open().close()
        self.assertEqual(other.read_bytes(), whole)
        other.unlink()
        with tideline.Client(user_id="me") as memory, self.assertRaises(tideline.UnsupportedError):
            memory.rekey()

    def test_who_let_go_of_it_needs_a_key(self):
        client = self.open()
        self.fill(client, "c", range(10))
        client.release()
        with self.open() as other:
            finish(other.rekey())
        with self.assertRaises(tideline.MismatchError):
            client.reacquire()
        client.close()
        self.assertEqual(len(self.texts(self.open())), 10)

    def test_backups_and_releases_end_it(self):
        client = self.open()
        self.fill(client, "c", range(2_000))
        backup = client.backup(self.folder / "copy")
        backup.step(0)
        work, second = client.rekey(), client.rekey()
        work.step(0)
        with self.assertRaises(tideline.LockedError):
            second.step(0)
        finish(work)
        with self.assertRaises(tideline.StorageError):
            backup.step(0)
        self.assertEqual(self.names(), ["eva.tideline", "eva.tideline-wal"])
        third = client.rekey()
        third.step(0)
        client.release()
        with self.assertRaises(tideline.ReleasedError):
            third.step(0)
        client.reacquire()
        with self.assertRaises(tideline.StorageError):
            third.step(0)
        self.assertEqual(len(self.texts(client)), 2_000)


class Keeping(DictStorage):
    """Remembers what each object had when it was removed, as the blocks of a store may."""

    def __init__(self, durable=None):
        super().__init__()
        self.durable, self.removed = dict(durable or {}), []
        self.crash()

    def remove(self, name, fence, object):
        self.removed.append((int(object), bytes(self.objects.get((name, object), b""))))
        super().remove(name, fence, object)

    def of(self, *objects):
        return [bytes(self.objects.get(("eva", object), b"")) for object in objects]

    def used(self):
        return [object for object in (MAIN, NEXT) if self.of(object)[0]]


class RekeyOnAStorage(Planting):
    def on(self, storage):
        return self.open("eva", storage=storage)

    def readable(self, storage, blocks=()):
        """What the key opens of the file that a storage has, and of blocks."""
        self.file.write_bytes(storage.of(*storage.used())[0])
        pathlib.Path(f"{self.file}-wal").write_bytes(storage.of(LOG)[0])
        return decrypted(self.file, blocks=blocks)

    def test_nothing_of_it_is_left(self):
        storage = Keeping()
        client = self.on(storage)
        words = self.plant(client)
        kept = self.texts(client, "kept")
        self.assertEqual(found(words, self.readable(storage)), 1_000)
        before = storage.of(MAIN, LOG)
        own = header_of(storage.of(OWN)[0] * 2)
        self.assertEqual(own[16:32], header_of(before[0])[16:32])
        storage.removed.clear()
        work = client.rekey("gone")
        self.assertGreater(finish(work), 3)
        receipt = work.receipt()
        self.assertEqual((receipt.files, receipt.conversations, receipt.operations), (1, 1, 61))
        self.assertEqual(storage.used(), [NEXT])
        self.assertEqual(self.texts(client, "kept"), kept)
        blocks = before + [data for _, data in storage.removed if data]
        now = self.readable(storage, blocks=blocks)
        self.assertEqual(found(words, now), 0)
        self.assertIn(b"text 499", now)
        # No slot is left of the former data key: not in the file, and not beside it.
        old = [data for object, data in storage.removed if data and object == MAIN][-1]
        for copy in (0, PAGE):
            self.assertEqual(old[copy + 64:copy + 2048], bytes(1984))
            self.assertEqual(old[copy + 2120:copy + 4064], bytes(1944))
        for object, data in storage.removed:
            if object == OWN and data:
                self.assertEqual(data[64:PAGE], bytes(PAGE - 64))
        self.assertEqual(storage.of(OWN), [b""])
        # It outlives its process, and changes back.
        storage.crash()
        client = self.on(storage)
        self.assertEqual(self.texts(client, "kept"), kept)
        client.draft("kept", "goes on")
        finish(client.rekey())
        self.assertEqual(storage.used(), [MAIN])
        self.assertEqual(storage.of(OWN)[0][16:32], storage.of(MAIN)[0][16:32])
        copy = self.folder / "backup"
        finish(client.backup(copy))
        self.assertEqual(found(words, decrypted(copy)), 0)
        client.wipe()
        self.assertEqual(storage.of(MAIN, LOG, OWN, NEXT), [b""] * 4)

    def test_an_end_after_each_step(self):
        """By a crash, which takes what was not synced, or by another holder."""
        start = Keeping()
        with self.on(start) as client:
            self.fill(client, "c", range(1_000))
            self.fill(client, "gone", range(300), "gone")
            before = self.texts(client)
        old = header_of(start.of(MAIN)[0])[16:32]
        for crashes in (True, False):
            changed = []
            for steps in range(60):
                storage = Keeping(start.durable)
                client = self.on(storage)
                work, is_done = client.rekey("gone"), False
                for _ in range(steps):
                    is_done = is_done or work.step(0).is_done
                if crashes:
                    storage.crash()
                other = self.on(storage)
                self.assertEqual(self.texts(other), before, steps)
                with self.assertRaises(tideline.NotFoundError):
                    other.conversation("gone")
                self.assertEqual(len(storage.used()), 1, steps)
                changed.append(header_of(storage.of(*storage.used())[0])[16:32] != old)
                if not is_done:
                    with self.assertRaises(tideline.LockedError):
                        while not work.step(0).is_done:
                            continue
                    self.assertEqual(len(storage.used()), 1, steps)
                # It loses its words in any case.
                finish(other.rekey())
                self.assertEqual(self.texts(other), before, steps)
                if is_done:
                    break
            self.assertGreater(steps, 3)
            self.assertEqual(changed, [False] * steps + [True])

    def test_an_error_leaves_the_key(self):
        class Full(Keeping):
            room = True

            def write(self, name, fence, object, offset, data):
                if not self.room and int(object) == NEXT:
                    raise tideline.NoRoom
                super().write(name, fence, object, offset, data)

        storage = Full()
        client = self.on(storage)
        self.fill(client, "c", range(500))
        before, old = self.texts(client), storage.of(MAIN)[0][16:32]
        storage.room = False
        with self.assertRaises(tideline.FullError):
            finish(client.rekey())
        client.draft("c", "goes on")
        self.assertEqual(self.texts(client), before)
        self.assertEqual((storage.used(), storage.of(MAIN)[0][16:32]), ([MAIN], old))
        storage.room = True
        finish(client.rekey())
        self.assertEqual(self.texts(client), before)
        self.assertEqual(storage.used(), [NEXT])


if __name__ == "__main__":
    unittest.main()

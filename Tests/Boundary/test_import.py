"""Imports and exports from Python: what is taken in, what is left out, and what comes out again."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import tideline
from tideline import MessageFlags

from support import KEY, ROOT

IMPORT = ROOT / "examples" / "python" / "examples" / "import.py"


def message(number, conversation="c", **more):
    return {"message_id": f"m{number:06}", "conversation_id": conversation, "sender_id": "you",
            "created_at": f"2024-05-{1 + number // 86_400:02}T{number // 3600 % 24:02}:"
                          f"{number // 60 % 60:02}:{number % 60:02}",
            "payload": {"text": f"text {number}"}, **more}


def lines(messages):
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def finish(work):
    steps = 1
    while not work.step().is_done:
        steps += 1
    return steps


class Import(unittest.TestCase):
    def test_lines(self):
        with tideline.Client(user_id="me") as client:
            source = lines(message(n) for n in range(1, 601))
            work = client.import_messages(source, "old")
            first = work.step()
            self.assertTrue(0 < first.done < first.total == len(source))
            self.assertGreater(finish(work), 1)
            done = client.imported("old")
            self.assertEqual((done.inserted, done.bad, done.lines), (600, 0, 600))
            self.assertTrue(done.done and done.offset == len(source))
            rows = client.messages("c", limit=1000).messages
            self.assertEqual([row.id for row in rows], [f"m{n:06}" for n in range(1, 601)])
            self.assertTrue(all(row.flags & MessageFlags.UNVERIFIED for row in rows))
            self.assertEqual(json.loads(rows[0].payload), {"text": "text 1"})
            # Once more takes nothing twice; lines that were added are taken.
            finish(client.import_messages(source, "old"))
            self.assertEqual(client.imported("old"), done)
            finish(client.import_messages(source + lines([message(601)]), "old"))
            self.assertEqual(client.imported("old").inserted, 601)
            finish(client.import_messages(source, "old", again=True))
            self.assertEqual(client.imported("old").known, 600)
            self.assertIsNone(client.imported("another"))

    def by_id(self, *messages):
        """A cache that keeps one JSON object a conversation: message ids to decrypted payloads."""
        return json.dumps({one["message_id"]: {
            "created_at": one["created_at"], "sender_id": one["sender_id"], **one["payload"]}
            for one in messages}, ensure_ascii=False).encode()

    def test_an_object_of_ids_and_payloads(self):
        source = self.by_id(*[message(n) for n in range(600, 0, -1)])
        with tideline.Client(user_id="me") as client:
            # Killed in between, and gone on with.
            client.import_messages(source, "old", "room", by_id=True).step()
            self.assertLess(client.imported("old").inserted, 600)
            finish(client.import_messages(source, "old", "room", by_id=True))
            done = client.imported("old")
            self.assertEqual((done.inserted, done.bad, done.done), (600, 0, True))
            rows = client.messages("room", limit=1_000).messages
            self.assertEqual([row.id for row in rows], [f"m{n:06}" for n in range(1, 601)])
            # What is the message's own is not in the payload as well.
            self.assertEqual((rows[0].json, rows[0].sender), ({"text": "text 1"}, "you"))
            self.assertTrue(rows[0].flags & MessageFlags.UNVERIFIED)

    def test_members_of_payloads_by_id(self):
        source = json.dumps({
            "a": {"sender_id": "you", "created_at": "2024-05-01T00:00:01", "text": "čau",
                  "reactions": {"+": ["me"]}},
            "b": {"sender_id": "you", "created_at": "2024-05-01T00:00:02", "payload": "sealed"},
            "c": {"sender_id": "you", "created_at": "2024-05-01T00:00:03", "_control": "key"},
            "d": {"text": "nobody wrote it"}, "e": "no object",
            "f": {"sender_id": "you", "created_at": "yesterday"}}, ensure_ascii=False).encode()
        with tideline.Client(user_id="me") as client:
            finish(client.import_messages(source, "old", "room", by_id=True))
            rows = client.messages("room").messages
            # A payload for machines is stored, and on no screen.
            self.assertEqual(client.imported("old").inserted, 3)
            self.assertEqual([(row.id, row.json) for row in rows],
                             [("a", {"text": "čau"}), ("b", "sealed")])
            self.assertEqual(rows[0].reactions, (tideline.Reaction("+", ("me",)),))
            self.assertEqual(sorted(client.import_bad("old")), [4, 5, 6])

    def test_each_member_that_a_message_has_is_taken_out_of_the_payload(self):
        for name in ("sender_id", "created_at", "edited_at", "version", "client_id", "reply_to",
                     "reactions", "pinned", "deleted", "moderated", "kind", "read_by",
                     "delivered_by", "listened_by", "seq", "prev_id", "attachment", "metadata"):
            source = json.dumps({"a": {name: 1, "text": "t"}}).encode()
            self.assertEqual(json.loads(tideline.keep.lines_by_id(source)),
                             {"message_id": "a", name: 1, "payload": {"text": "t"}})

    def test_a_source_by_id_that_is_no_object(self):
        with tideline.Client(user_id="me") as client:
            for source, reason in ((b"[]", "not one JSON object"), (b"{", "not JSON"),
                                   (b"\xff", "not JSON")):
                with self.assertRaisesRegex(ValueError, reason):
                    client.import_messages(source, "old", "room", by_id=True)
            self.assertIsNone(client.imported("old"))

    def test_the_example_takes_a_file_a_conversation(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("general", "family"):
                with open(f"{folder}/{name}.json", "wb") as file:
                    file.write(self.by_id(message(1), message(2)))
            told = subprocess.run(
                [sys.executable, IMPORT, "--by-id", f"{folder}/general.json",
                 f"{folder}/family.json", "--file", f"{folder}/live", "--user", "me"],
                capture_output=True, text=True)
            self.assertEqual(told.stdout.count("2 messages were new, 0 were here"), 2, told.stderr)
            key = tideline.key_file(f"{folder}/live.key")
            with tideline.Client(f"{folder}/live", key, user_id="me") as client:
                self.assertEqual({room.id for room in client.conversations()},
                                 {"general", "family"})

    def test_bad_lines_are_named(self):
        source = (lines([message(1)]) + b"no json\n\n" + lines([{"message_id": "x"}])
                  + lines([message(2)]) + b"[1]\n" + b'{"a":' + b"9" * 100 + b"\n"
                  + json.dumps(message(3)).encode())
        with tideline.Client(user_id="me") as client:
            finish(client.import_messages(source, "old"))
            done = client.imported("old")
            self.assertEqual((done.inserted, done.bad, done.lines), (3, 4, 8))
            bad = client.import_bad("old")
            self.assertEqual(sorted(bad), [2, 4, 6, 7])
            self.assertEqual(bad[2], "an item is not JSON")
            self.assertEqual(bad[6], "an item is not a JSON object")

    def test_an_array_of_one_conversation(self):
        """The file a conversation of the first design note."""
        messages = [message(n) for n in range(1, 301)]
        for one in messages:
            del one["conversation_id"]
        messages[7]["payload"] = {"text": 'a "quoted" ] and } and \\'}
        messages.insert(3, "no object")
        source = json.dumps(messages, indent=1).encode()
        with tideline.Client(user_id="me") as client:
            finish(client.import_messages(source, "general.json", "general", array=True, read=True))
            done = client.imported("general.json")
            self.assertEqual((done.inserted, done.bad), (300, 1))
            self.assertEqual(sorted(client.import_bad("general.json")), [4])
            rows = client.messages("general", limit=1000).messages
            self.assertEqual(len(rows), 300)
            self.assertFalse(any(row.flags & MessageFlags.UNREAD for row in rows))
            for broken in (b"", b"[1,", b"[", b'[{"message_id":"'):
                with self.assertRaises(tideline.IncompleteError):
                    finish(client.import_messages(broken, f"b{len(broken)}", "general", array=True))
            for broken in (b"{}", b"[] []", source + b"x"):
                with self.assertRaises(tideline.InvalidError):
                    finish(client.import_messages(broken, f"b{len(broken)}", "general", array=True))
            self.assertEqual(len(client.messages("general", limit=1000).messages), 300)

    def test_what_goes_out_comes_in_again(self):
        with tideline.Client(user_id="me") as client:
            more = dict(reactions={"+1": ["me"]}, read_by=["me", "you"], pinned=True,
                        edited_at="2024-05-01T20:00:00", reply_to="m000001", version=7,
                        delivered_by=["you"], own={"kept": [1, 2]})
            source = [message(n, **(more if n % 7 == 0 else {})) for n in range(1, 601)]
            finish(client.import_messages(lines(source), "old"))
            parts = []
            finish(client.export("c", parts.append))
            self.assertGreater(len(parts), 1)
            out = [json.loads(line) for line in b"".join(parts).splitlines()]
            self.assertEqual(out, source)
            with self.assertRaises(tideline.NotFoundError):
                client.export("nowhere", parts.append)

    def test_a_source_that_fails_is_asked_again(self):
        class Source:
            fails = False

            def seek(self, *_):
                if self.fails:
                    raise OSError("not now")
                return 10

            def read(self, _):
                raise OSError("not now")

        with tideline.Client(user_id="me") as client, self.assertLogs("tideline", "ERROR"):
            work = client.import_messages(Source(), "old")
            for _ in range(2):
                with self.assertRaises(tideline.StorageError):
                    work.step()

            def write(_):
                raise OSError("full")

            finish(client.import_messages(lines([message(1)]), "other"))
            with self.assertRaises(tideline.StorageError):
                client.export("c", write).step()

    def test_what_is_known_stays(self):
        with tideline.Client(user_id="me") as client:
            finish(client.import_messages(lines([message(1), message(1), message(2)]), "old"))
            done = client.imported("old")
            self.assertEqual((done.inserted, done.known), (2, 1))

    def test_killed_and_resumed(self):
        """Killed at random points: nothing twice, nothing lost, bad lines named."""
        count = int(os.environ.get("TL_IMPORT_MESSAGES", "6000"))
        kills = int(os.environ.get("TL_IMPORT_KILLS", "12"))
        with tempfile.TemporaryDirectory() as folder:
            source, bad = f"{folder}/old.jsonl", set(range(5, count, count // 20))
            with open(source, "wb") as file:
                for number in range(1, count + 1):
                    file.write(b"broken\n" if number in bad else lines([message(number)]))
            killed = 0
            for kill in range(kills):
                child = subprocess.Popen(
                    [sys.executable, "-c", CHILD, f"{folder}/chat", source],
                    stdout=subprocess.PIPE)
                # It is let go as far as its share of the lines, and then a little.
                while (line := child.stdout.readline()):
                    if int(line) >= count * (kill + 1) // (kills + 1):
                        break
                killed += child.poll() is None
                child.send_signal(signal.SIGKILL)
                child.wait()
                child.stdout.close()
            self.assertGreater(killed, kills // 2)
            with tideline.Client(f"{folder}/chat", KEY, user_id="me") as client:
                finish(client.import_messages(source, "old"))
                done = client.imported("old")
                self.assertEqual(
                    (done.inserted, done.known, done.bad, done.lines),
                    (count - len(bad), 0, len(bad), count))
                self.assertEqual(set(client.import_bad("old")), bad)
                parts = []
                finish(client.export("c", parts.append))
                out = [json.loads(line)["message_id"] for line in b"".join(parts).splitlines()]
                self.assertEqual(
                    out, [f"m{n:06}" for n in range(1, count + 1) if n not in bad])


CHILD = """
import sys, tideline
with tideline.Client(sys.argv[1], %r, user_id="me") as client:
    work = client.import_messages(sys.argv[2], "old")
    while True:
        done = work.step().is_done
        print(client.imported("old").lines, flush=True)
        if done:
            break
""" % KEY

"""The command `tideline`: what it says of a file, finds and writes, and how it ends."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import tideline
from tideline import tool

from support import ROOT

MANUAL = ROOT / "examples" / "python" / "man" / "tideline.1"


def line(number, conversation="general", text=None):
    return json.dumps({
        "message_id": f"m{number}", "conversation_id": conversation, "sender_id": "jan",
        "created_at": f"2024-05-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}",
        "payload": {"text": text or f"number {number}"}}).encode() + b"\n"


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "eva.tideline"
        self.key = tideline.key_file(f"{self.file}.key")
        with self.client() as client:
            # More than one step and one page of hits.
            source = b"".join(line(n) for n in range(300)) + line(
                900, "other", "a \x1b[31mred\nherring")
            work = client.import_messages(source, "old")
            while not work.step().is_done:
                pass
            client.send("general", json.dumps({"text": "not sent"}))

    def client(self, **more):
        return tideline.Client(self.file, self.key, user_id="eva", **more)

    def run_tool(self, command, *words):
        out, error = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = tool.main([command, str(self.file), "--user", "eva", *words])
        out.flush()
        return code, out.buffer.getvalue().decode(), error.getvalue()

    def assert_wrong_words(self, *words):
        with self.assertRaises(SystemExit) as ended:
            self.run_tool(*words)
        self.assertEqual(ended.exception.code, tool.USAGE)

    def test_info(self):
        code, out, _ = self.run_tool("info", "--json")
        self.assertEqual(code, tool.DONE)
        told = json.loads(out)
        self.assertEqual((told["conversations"], told["operations open"]), (2, 1))
        self.assertEqual(told["bytes of its -own file"],
                         pathlib.Path(f"{self.file}-own").stat().st_size)
        self.assertEqual([one["id"] for one in told["rooms"]], ["general", "other"])
        code, out, _ = self.run_tool("info")
        self.assertEqual(code, tool.DONE)
        self.assertRegex(out, r"conversations +2\n")
        self.assertRegex(out, r"2024-05-01 00:15:00 +1 unread  other\n")

    def test_search(self):
        code, out, error = self.run_tool("search", "number", "--json")
        self.assertEqual((code, len(out.splitlines())), (tool.DONE, 50))
        self.assertIn("more than 50", error)
        self.assertEqual(json.loads(out.splitlines()[0])["id"], "m299")
        code, out, _ = self.run_tool("search", "herring", "--conversation", "other")
        # What a message says does not reach the terminal as orders.
        self.assertEqual((code, out), (
            tool.DONE, "2024-05-01 00:15:00  other  jan: a  [31mred herring\n"))
        self.assertEqual(self.run_tool("search", "nowhere")[0], tool.NOTHING)
        for limit in ("0", "-1", "1001", str((1 << 32) + 1), "many"):
            self.assert_wrong_words("search", "number", f"--limit={limit}")
        self.assertEqual(len(self.run_tool("search", "number", "--limit", "1000")[1].splitlines()),
                         300)
        code, _, error = self.run_tool("search", "--", "-number")
        self.assertEqual(code, tool.FAILED)
        self.assertIn("name a word", error)
        with self.client() as client:
            self.assertTrue(client.search_switch(True), "search is off, as it was before")

    def test_explain(self):
        code, out, _ = self.run_tool("explain", "general", "m7")
        self.assertEqual((code, out), (
            tool.DONE, "shown: shown; next: none\nthe file has no trace of changes\n"))
        with self.client(trace=True) as client:
            client.drop("general", "m7")
        code, out, _ = self.run_tool("explain", "general", "m7")
        self.assertEqual(code, tool.DONE)
        self.assertRegex(out, r"^not shown: dropped; next: sync_latest\n"
                              r"it may be between the start and the present\n"
                              r"\d{4}-.*  removed  by  call\n$")
        code, out, _ = self.run_tool("explain", "general", "m7", "--json")
        self.assertEqual((code, json.loads(out)["reason"]), (tool.DONE, "dropped"))
        # No other command drops the trace.
        self.assertEqual(self.run_tool("search", "number")[0], tool.DONE)
        self.assertIn("removed", self.run_tool("explain", "general", "m7")[1])

    def test_export(self):
        path = self.folder / "all.jsonl"
        code, out, _ = self.run_tool("export", "-o", str(path))
        self.assertEqual((code, out), (tool.DONE, ""))
        ids = [json.loads(one)["message_id"] for one in path.read_bytes().splitlines()]
        self.assertEqual(sorted(ids), sorted([f"m{n}" for n in [*range(300), 900]]))
        self.assertEqual(list(self.folder.glob("*.part")), [])
        code, out, _ = self.run_tool("export", "--conversation", "other")
        self.assertEqual([json.loads(one)["message_id"] for one in out.splitlines()], ["m900"])

    def test_check(self):
        code, out, _ = self.run_tool("check")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^\d+ pages, all sound$")
        changed = bytearray(self.file.read_bytes())
        changed[-4_000] ^= 1
        self.file.write_bytes(changed)
        code, _, error = self.run_tool("check")
        self.assertEqual(code, 3)
        self.assertIn("1 of ", error)
        code, out, _ = self.run_tool("check", "--heal")
        self.assertEqual(code, 0)
        self.assertIn(", 1 of them damaged, healed", out)
        self.assertEqual(self.run_tool("check")[0], 0)
        changed = bytearray(self.file.read_bytes())
        changed[8_192] ^= 1
        self.file.write_bytes(changed)
        code, _, error = self.run_tool("check", "--heal")
        self.assertEqual(code, 3)
        self.assertIn("salvage", error)

    def test_rekey_and_erase(self):
        before = self.file.read_bytes()[16:32]
        code, out, _ = self.run_tool("rekey")
        self.assertEqual((code, out), (tool.DONE, ""))
        self.assertNotEqual(self.file.read_bytes()[16:32], before)
        code, out, _ = self.run_tool("erase", "--conversation", "general")
        self.assertEqual(code, tool.DONE)
        self.assertEqual(
            [json.loads(out)[name] for name in ("conversations", "messages", "operations")],
            [1, 300, 1])
        with self.client() as client:
            self.assertEqual([row.id for row in client.conversations()], ["other"])
        code, _, error = self.run_tool("erase", "--conversation", "nowhere")
        self.assertEqual(code, tool.FAILED)
        self.assertIn("no such conversation", error)
        self.assertEqual(self.run_tool("erase", "--conversation", "")[0], tool.FAILED)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            tool.main(["erase", str(self.file), "--user", "eva"])
        self.assertTrue(self.file.exists())
        code, out, _ = self.run_tool("erase", "--all")
        self.assertEqual((code, json.loads(out)["messages"]), (tool.DONE, 1))
        self.assertEqual([one.name for one in self.folder.iterdir()], ["eva.tideline.key"])

    def test_refusals(self):
        before = self.file.read_bytes()
        with self.client():
            code, _, error = self.run_tool("info")
            self.assertEqual(code, tool.FAILED)
            self.assertIn("open elsewhere", error)
        other = self.folder / "other.key"
        for content, reason in [(b"x" * 31, "31 bytes"), (os.urandom(32), "key")]:
            other.write_bytes(content)
            code, _, error = self.run_tool("info", "--key", str(other))
            self.assertEqual(code, tool.FAILED)
            self.assertIn(reason, error)
        self.assertIn("no key", self.run_tool("info", "--key", str(self.folder / "none"))[2])
        self.assertEqual(self.run_tool("info", "--order", "number")[0], tool.FAILED)
        self.file.rename(self.folder / "moved")
        self.assertIn("no file", self.run_tool("info")[2])
        self.assertFalse(self.file.exists())
        self.assertEqual((self.folder / "moved").read_bytes()[:8192], before[:8192])
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
            tool.main(["info"])
        self.assertEqual(ended.exception.code, tool.USAGE)

    def content(self, file):
        with tideline.Client(file, self.key, user_id="eva", existing=True) as client:
            return ([one.payload for one in client.messages("general", limit=1000).messages],
                    client.state().operations_open + client.state().operations_stuck)

    def test_backup_and_restore(self):
        before = self.content(self.file)
        copy, back = self.folder / "copy", self.folder / "back.tideline"
        key = ["--key", f"{self.file}.key"]

        def restore(*words):
            error = io.StringIO()
            with contextlib.redirect_stderr(error):
                return tool.main(["restore", *map(str, words), "--user", "eva", *key]), error

        self.assertEqual(self.run_tool("backup", str(copy))[0], tool.DONE)
        whole = copy.read_bytes()
        code, _, error = self.run_tool("backup", str(copy))
        self.assertEqual((code, copy.read_bytes()), (tool.FAILED, whole))
        self.assertIn("at path already", error)
        # A backup stays as it is, and needs not be writable.
        copy.chmod(0o400)
        self.assertEqual(restore(copy, back)[0], tool.DONE)
        self.assertEqual((copy.read_bytes(), back.stat().st_mode & 0o777), (whole, 0o600))
        names = {"back.tideline", "copy", "eva.tideline", "eva.tideline-own", "eva.tideline.key"}
        self.assertEqual({one.name for one in self.folder.iterdir()}, names)
        self.assertEqual(self.content(back), before)
        # One that is written to meanwhile would be a mixture of two moments.
        late, copyfile = self.folder / "late", shutil.copyfile

        def slow(source, target):
            copyfile(source, target)
            with self.client() as client:
                client.send("general", {"text": "late"}, client_id=os.urandom(4).hex())

        with unittest.mock.patch("shutil.copyfile", slow):
            code, error = restore(self.file, late)
        self.assertEqual((code, late.exists()), (tool.FAILED, False))
        self.assertIn("written to meanwhile", error.getvalue())
        self.assertIn("is there already", restore(copy, ".")[1].getvalue())
        # Nothing is written over, and nothing is made of what does not open.
        kept = back.read_bytes()
        self.assertEqual(restore(copy, back)[0], tool.FAILED)
        self.assertEqual(back.read_bytes(), kept)
        back.rename(self.folder / "back.tideline-wal")
        self.assertEqual(restore(copy, back)[0], tool.FAILED)
        (self.folder / "back.tideline-wal").unlink()
        self.assertIn("-own is there already", restore(copy, back)[1].getvalue())
        (self.folder / "back.tideline-own").unlink()
        copy.chmod(0o600)
        for at in (8_192 + 4_096 * 20 + 7, 70):
            changed = bytearray(whole)
            for place in {at, at % 4_096, at % 4_096 + 4_096} if at < 4_096 else {at}:
                changed[place] ^= 1
            copy.write_bytes(changed)
            self.assertEqual(restore(copy, back)[0], tool.FAILED)
            self.assertEqual({one.name for one in self.folder.iterdir()},
                             names - {"back.tideline"})
        self.assertEqual(restore(self.folder / "none", back)[0], tool.FAILED)
        # What has a name beside the new file is left alone, be it the backup itself.
        copy.write_bytes(whole)
        for name in ("back.tideline.part", "back.tideline.part-wal", "back.tideline-new"):
            (self.folder / name).write_bytes(whole)
        code, error = restore(copy, back)
        self.assertEqual(code, tool.FAILED)
        self.assertIn("-new is in the way", error.getvalue())
        self.assertEqual((self.folder / "back.tideline-new").read_bytes(), whole)
        (self.folder / "back.tideline-new").unlink()
        (self.folder / "back.tideline.part-wal").unlink()
        self.assertEqual(restore(self.folder / "back.tideline.part", back)[0], tool.DONE)
        self.assertEqual((self.folder / "back.tideline.part").read_bytes(), whole)
        self.assertEqual(self.content(back), before)

    def test_salvage(self):
        before = self.content(self.file)
        saved = self.folder / "saved.tideline"
        whole = bytearray(self.file.read_bytes())
        # Without page 1 nothing opens it.
        whole[8_192:12_288] = bytes(4_096)
        self.file.write_bytes(whole)
        self.assertEqual(self.run_tool("info")[0], tool.FAILED)
        self.assertEqual(self.run_tool("salvage", str(saved))[0], tool.DONE)
        self.assertEqual(self.content(saved), before)
        self.assertEqual(self.file.read_bytes(), whole)
        self.assertIn("at path already", self.run_tool("salvage", str(saved))[2])

    def piped(self, command, text, *words):
        content = text if isinstance(text, bytes) else text.encode()
        with unittest.mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(content))):
            return self.run_tool(command, *words)

    def test_keys(self):
        def slots():
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(tool.main(["slots", str(self.file)]), tool.DONE)
            return out.getvalue()

        self.assertEqual(slots(), "0  raw         \n")
        code, out, _ = self.piped("add-key", "a horse\nan horse\n", "passphrase")
        self.assertEqual((code, slots()), (tool.FAILED, "0  raw         \n"))
        code, out, _ = self.piped("add-key", "a horse\na horse\n", "passphrase", "--label", "Eva")
        self.assertEqual((code, out), (tool.DONE, "0  raw         \n1  passphrase  Eva\n"))
        code, out, _ = self.run_tool("add-key", "code", "--label", "\x1b[2Jpaper")
        paper = re.search(r"device: ([0-9A-Z-]{35})\n", out)[1]
        self.assertEqual(code, tool.DONE)
        self.assertIn("2  code         [2Jpaper\n", slots())
        # A code that nobody saw opens nothing, and a number that is none replaces nothing.
        before = slots()
        command = [sys.executable, "-m", "tideline", "add-key", str(self.file), "--user", "eva",
                   "code", "--slot", "0"]
        for unbuffered in ("", "1"):
            self.assert_a_full_disk_is_said(command, unbuffered)
            self.assertEqual(slots(), before)
        new = self.folder / "new.key"
        for slot in ("7", str(1 << 32), "-1"):
            code, _, error = self.run_tool("add-key", "raw", f"--slot={slot}", "--into", str(new))
            self.assertEqual((code, new.exists(), slots()), (tool.FAILED, False, before))
        self.assertEqual(self.run_tool("add-key", "raw")[0], tool.FAILED)
        self.assertEqual(self.run_tool("add-key", "raw", "--slot", "0", "--into", str(new))[0],
                         tool.DONE)
        # The key before it opens nothing now; each of the others does.
        self.assertEqual(self.run_tool("info")[0], tool.FAILED)
        self.assertEqual(self.run_tool("info", "--key", str(new))[0], tool.DONE)
        self.assertEqual(self.piped("info", "a horse\n", "--open-with", "passphrase")[0], tool.DONE)
        self.assertEqual(self.piped("info", paper + "\n", "--open-with", "code")[0], tool.DONE)
        # A passphrase is taken byte by byte; a key with a label that is too long is not made.
        self.assertEqual(
            self.piped("add-key", b"h\xff\nh\xff\n", "passphrase", "--slot", "1",
                       "--key", str(new))[0], tool.DONE)
        self.assertEqual(
            self.piped("info", b"h\xff\n", "--open-with", "passphrase")[0], tool.DONE)
        long = self.folder / "long.key"
        self.assert_wrong_words("add-key", "raw", "--into", str(long), "--label", "é" * 25)
        self.assertFalse(long.exists())
        other = paper.replace(paper[0], "2" if paper[0] == "3" else "3", 1)
        code, _, error = self.piped("info", other, "--open-with", "code")
        self.assertEqual(code, tool.FAILED)
        for slot in (0, 1):
            code = self.piped("remove-key", paper, str(slot), "--open-with", "code")[0]
            self.assertEqual(code, tool.DONE)
        code, _, error = self.piped("remove-key", paper, "2", "--open-with", "code")
        self.assertEqual((code, slots()), (tool.FAILED, "2  code         [2Jpaper\n"))

    def assert_a_full_disk_is_said(self, command, unbuffered):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
        self.assertEqual(ended.returncode, tool.FAILED)
        self.assertRegex(ended.stderr, r"^tideline: .*No space left on device\n$")

    def test_a_full_disk(self):
        """The reason and the code, where Python buffers what is printed and where it does not."""
        for unbuffered in ("", "1"):
            self.assert_a_full_disk_is_said(
                [sys.executable, "-m", "tideline", "slots", str(self.file)],
                unbuffered)

    def test_what_is_closed_or_full(self):
        """Without an output, without an input, and with an error stream that takes nothing."""
        one = [str(self.file), "--user", "eva"]
        asked = [*one, "--open-with", "passphrase"]
        before = tideline.keys(self.file)
        for command, redirected in (
                (["add-key", *one, "code"], ">&-"), (["export", *one], ">&-"),
                (["info", *asked], "<&-"), (["info", *asked], "2>/dev/full </dev/null"),
                (["info", *asked], "2>&- </dev/null")):
            with self.subTest(command=command[0], redirected=redirected):
                ended = subprocess.run(
                    ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "tideline",
                     *command], capture_output=True, text=True, check=False)
                self.assertEqual((ended.returncode, ended.stdout), (tool.FAILED, ""))
                self.assertNotIn("Traceback", ended.stderr)
        self.assertEqual(tideline.keys(self.file), before)
        with unittest.mock.patch("tideline.tool._work", side_effect=KeyboardInterrupt):
            self.assertEqual(self.run_tool("backup", str(self.folder / "b"))[0], tool.INTERRUPTED)

    def test_a_reader_that_has_enough(self):
        words = [sys.executable, "-m", "tideline", "export", str(self.file), "--user", "eva"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            error = process.stderr.read()
            self.assertEqual((process.wait(), error), (tool.DONE, b""))

    def test_the_manual_names_all(self):
        manual = MANUAL.read_text().replace("\\-", "-")
        parser = tool._parser()
        commands = parser._subparsers._group_actions[0].choices
        self.assertEqual(set(re.findall(r"^\.BI ([a-z][a-z-]*) ", manual, re.M)), set(commands))
        options = {text for one in commands.values() for text in one._option_string_actions}
        for option in options - {"-h", "--help"} | {"--version"}:
            self.assertIn(option, manual)

"""The programs of guide and README print what their pages show; those of how-to pages run."""

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import tideline

from support import KEY, ROOT, message, serve

GUIDE = ROOT / "docs" / "guide" / "chat-client.md"
BOT = ROOT / "docs" / "guide" / "bot.md"
SERVER = os.environ.get("TIDELINE_SERVER", str(ROOT / "out" / "tideline-server"))
# The package that is tested, also from another folder.
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(pathlib.Path(tideline.__file__).resolve().parent.parent)}
# The bot, killed when it has answered a conversation and marks it.
KILLED = """
import os, runpy, tideline
tideline.Client.perform = lambda *_: os.kill(os.getpid(), 9)
runpy.run_path("bot.py", run_name="__main__")
"""


def steps(text):
    """What a reader does, in order: ("save", name, program), ("run", name) or ("see", output)."""
    found = []
    for match in re.finditer(r"(?:Save as \*\*([\w.]+)\*\*:\n\n)?^```(\w+)\n(.*?)^```", text,
                             re.MULTILINE | re.DOTALL):
        name, language, block = match.groups()
        if name:
            found.append(("save", name, block))
        elif language == "text":
            found.append(("see", block))
        else:
            found += [("run", name) for name in re.findall(r"^python3 (\S+) 7400$", block, re.M)]
    return found


def options(text):
    """The options of the server that the page starts, on ports that are free."""
    line = re.search(r"^out/tideline-server (.*?[^\\])\n", text, re.MULTILINE | re.DOTALL).group(1)
    return re.sub(r"-port \d+", "-port 0", line.replace("\\\n", " ")).split()


def python(folder, *arguments):
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=ENVIRONMENT, text=True,
                          capture_output=True, timeout=60)


def saved(folder, text):
    for kind, name, *program in steps(text):
        if kind == "save":
            pathlib.Path(folder, name).write_text(program[0], encoding="utf-8")


class Other:
    """Another user of the server, without the library."""

    def __init__(self, port, user):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.count = 0
        self.ask("hello", user=user)

    def ask(self, kind, **more):
        self.count += 1
        request = {"type": kind, "request_id": str(self.count), **more}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("request_id") in (None, request["request_id"]) and "status" in answer:
                assert answer["status"] == "ok", answer
                return answer.get("data")
        raise ConnectionError("the server hung up")

    def begin(self):
        made = self.ask("create_conversation", participant_ids=["bot"])
        return made["conversation"]["conversation_id"]

    def say(self, room, count):
        for number in range(count):
            self.ask("send_message", conversation_id=room, payload={"text": f"say {number}"})

    def texts(self, room):
        found = []
        while True:
            page = self.ask("get_messages", conversation_id=room, limit=500, offset=len(found))
            if not page["messages"]:
                return found
            found += page["messages"]

    def close(self):
        self.lines.close()
        self.socket.close()


@unittest.skipUnless(GUIDE.exists() and os.access(SERVER, os.X_OK), "needs the page and a server")
class Guide(unittest.TestCase):
    def served(self, text):
        server = subprocess.Popen([SERVER, *options(text)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        return server.stdout.readline().split("tcp=")[1].split()[0]

    def test_a_chat_client(self):
        text = GUIDE.read_text(encoding="utf-8")
        port = self.served(text)
        run = []
        with tempfile.TemporaryDirectory() as folder:
            for kind, what, *program in steps(text):
                if kind == "save":
                    pathlib.Path(folder, what).write_text(program[0], encoding="utf-8")
                elif kind == "run":
                    run.append(python(folder, what, port))
                    self.assertIn(run[-1].returncode, (0, -signal.SIGKILL), run[-1].stderr)
                else:
                    self.assertEqual(run[-1].stdout, what)
        self.assertEqual([done.returncode for done in run].count(-signal.SIGKILL), 1)
        self.assertEqual(len(run), 6)

    def test_a_bot(self):
        """Each message is answered once: over kills, in conversations that began while it was
        away, with more unread than a page holds, and history is left alone."""
        text = GUIDE.read_text(encoding="utf-8")
        port = self.served(text)
        other = Other(int(port), "jan")
        self.addCleanup(other.close)
        rooms = [other.begin()]
        other.say(rooms[0], 3)
        with tempfile.TemporaryDirectory() as folder:
            saved(folder, text)
            saved(folder, BOT.read_text(encoding="utf-8"))
            begun = python(folder, "bot.py", port, "begin")
            self.assertEqual(begun.returncode, 0, begun.stderr)
            pathlib.Path(folder, "killed.py").write_text(KILLED, encoding="utf-8")
            asked = 0
            for count in (2, 1, 60, 120):
                rooms.append(other.begin())
                for room in rooms:
                    other.say(room, count)
                    asked += count
                killed = python(folder, "killed.py", port)
                self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
            rooms.append(other.begin())
            other.say(rooms[-1], 120)
            asked += 120
            bot = subprocess.Popen([sys.executable, "bot.py", port], cwd=folder, env=ENVIRONMENT)
            self.addCleanup(bot.wait)
            self.addCleanup(bot.kill)
            guard = time.monotonic() + 60
            answered = 0
            while answered < asked and time.monotonic() < guard:
                answered = sum(one["sender_id"] == "bot" for r in rooms for one in other.texts(r))
            said = [one for room in rooms for one in other.texts(room)]
        answers = [one["payload"]["text"] for one in said if one["sender_id"] == "bot"]
        questions = ["Answer to " + one["message_id"] for one in said if one["sender_id"] == "jan"]
        self.assertEqual(sorted(answers), sorted(questions[3:]))

    def test_the_first_program_of_the_readme(self):
        program = ROOT / "examples" / "python" / "examples" / "first.py"
        with tempfile.TemporaryDirectory() as folder:
            first, second = python(folder, program), python(folder, program)
        self.assertEqual(first.stdout.splitlines()[-1], "['ahoj', 'hi'] complete: True")
        self.assertNotIn("after_ts", first.stdout)
        self.assertIn('"after_ts":"2026-02-15T22:16:04"', second.stdout)

    def test_the_how_to_pages(self):
        """Each page's Python runs as it stands, on a client with messages."""
        messages = [message(number) for number in range(1, 31)]
        for number, one in enumerate(messages):
            one["payload"] = {"text": f"Příliš {number} 我们明天下午见"}
        ran = 0
        for path in sorted((ROOT / "docs" / "howto").glob("*.md")):
            text = path.read_text(encoding="utf-8")
            blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder, \
                    tideline.Client(os.path.join(folder, "a"), KEY, user_id="me") as client, \
                    tideline.Client(user_id="me") as second, \
                    contextlib.redirect_stdout(io.StringIO()):
                client.connected()
                client.sync("c")
                serve(client, messages)
                rows = client.messages("c").messages
                names = {"tideline": tideline, "client": client, "room": "c", "message": rows[0],
                         "path": os.path.join(folder, "a"), "user": "me",
                         "other": rows[1] if path.name == "logging-out.md" else second}
                for block in blocks:
                    exec(compile(block, str(path), "exec"), names)
                ran += len(blocks)
        self.assertGreaterEqual(ran, 6)

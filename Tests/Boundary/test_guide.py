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
import threading
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
# A chat client, killed when it has shown a notification.
SHOWN = """
import builtins, os, runpy
shown = print
def kill(*words):
    shown(*words, flush=True)
    if words[0] == "notify:":
        os.kill(os.getpid(), 9)
builtins.print = kill
runpy.run_path("badge.py", run_name="__main__")
"""
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

    def test_a_port_of_the_server_that_is_taken(self):
        """The server names the option, the port and the reason."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            for option, other in (("--tcp-port", "--ws-port"), ("--ws-port", "--tcp-port")):
                done = subprocess.run([SERVER, option, port, other, "0", "--messages", "0"],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(
                    (done.returncode, done.stderr, done.stdout),
                    (1, f"Error: {option} {port}: Address already in use\n", ""))

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

    def test_a_chat_client_without_a_server(self):
        """A program that waits for a server says so, in the words of the page."""
        text = GUIDE.read_text(encoding="utf-8")
        with socket.socket() as taken, tempfile.TemporaryDirectory() as folder:
            taken.bind(("127.0.0.1", 0))           # nobody listens there
            port = str(taken.getsockname()[1])
            saved(folder, text)
            waiting = subprocess.Popen([sys.executable, "open.py", port], cwd=folder, text=True,
                                       env=ENVIRONMENT, stderr=subprocess.PIPE)
            self.addCleanup(waiting.stderr.close)
            self.addCleanup(waiting.wait)
            self.addCleanup(waiting.kill)
            guard = threading.Timer(60, waiting.kill)
            self.addCleanup(guard.cancel)
            guard.start()
            lines = [waiting.stderr.readline() for _ in range(2)]
        self.assertEqual(lines[0], lines[1])
        self.assertIn(f"`{lines[0].strip().replace(port, '7400')}`", text)

    def test_a_chat_client_before_step_1(self):
        """Each later program names the step that was left out, in an empty folder."""
        text = GUIDE.read_text(encoding="utf-8")
        port = self.served(text)
        names = [name for kind, name, *_ in steps(text) if kind == "run" and name != "open.py"]
        self.assertEqual(len(names), 5)
        for name in names:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                saved(folder, text)
                done = python(folder, name, port)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertEqual(done.stderr, "no conversation is stored in this folder; "
                                              f"run step 1 first: python3 open.py {port}\n")

    def test_a_chat_client_killed_in_any_order(self):
        """The programs of step 5 run any number of times in any order; no send is doubled."""
        text = GUIDE.read_text(encoding="utf-8")
        port = self.served(text)
        with tempfile.TemporaryDirectory() as folder:
            saved(folder, text)
            self.assertEqual(python(folder, "open.py", port).returncode, 0)
            for crashes in (0, 1, 3, 0, 2):
                for _ in range(crashes):
                    killed = python(folder, "crash.py", port)
                    self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
                done = python(folder, "restart.py", port)
                if crashes == 0:
                    self.assertEqual((done.returncode, done.stderr),
                                     (1, "no message waits: run crash.py first\n"))
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    states, times = [line.split(": ")[1].split() for line in
                                     done.stdout.splitlines()]
                    self.assertEqual(set(states), {"QUEUED"})
                    self.assertEqual(times, ["1"] * len(states))

    def test_a_notification_is_not_lost_in_a_crash(self):
        """One that was shown and not noted is shown again, by the next process."""
        text = GUIDE.read_text(encoding="utf-8")
        port = self.served(text)
        with tempfile.TemporaryDirectory() as folder:
            saved(folder, text)
            self.assertEqual(python(folder, "open.py", port).returncode, 0)
            pathlib.Path(folder, "shown.py").write_text(SHOWN, encoding="utf-8")
            killed = python(folder, "shown.py", port)
            self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
            file, seen = pathlib.Path(folder, "eva.tideline"), pathlib.Path(folder, "seen")
            with tideline.Client(file, tideline.key_file(f"{file}.key"), user_id="eva") as client:
                changes = client.changes(int(seen.read_text())).entries
                again = [row.json["text"] for change in changes if change.notify
                         for row in client.numbered(change.conversation, change.first, change.last)]
            self.assertEqual((again, killed.stdout.count("notify:")), (["Where are you?"], 1))
            self.assertIn("notify: markéta Where are you?", python(folder, "badge.py", port).stdout)

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

    @unittest.skipUnless((ROOT / "out" / "lib").exists(), "needs what `make` has made")
    def test_the_commands_of_the_readme(self):
        """Three commands lead from a clone to the first program; the first one is `make`."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        section = text.split("## In Python")[1].split("\n## ")[0]
        make, *rest = re.search(r"^```sh\n(.*?)^```", section, re.M | re.S).group(1).splitlines()
        self.assertEqual((make.split("#")[0].strip(), len(rest)), ("make", 2))
        names = ("TIDELINE_LIBRARY", "PYTHONPATH")
        alone = {name: value for name, value in os.environ.items() if name not in names}
        with tempfile.TemporaryDirectory() as folder:
            for name in ("examples", "out"):
                os.symlink(ROOT / name, pathlib.Path(folder, name))
            done = subprocess.run(["sh", "-ec", "\n".join(rest)], cwd=folder, env=alone, text=True,
                                  capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "['ahoj', 'hi'] complete: True")

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
                         "path": os.path.join(folder, "a"), "key": KEY, "user": "me",
                         "other": rows[1] if path.name == "logging-out.md" else second}
                for block in blocks:
                    exec(compile(block, str(path), "exec"), names)
                ran += len(blocks)
        self.assertGreaterEqual(ran, 6)

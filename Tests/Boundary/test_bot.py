"""examples/python/bot.py: each message is answered once, whatever happens to the bot."""

import asyncio
import collections
import contextlib
import datetime
import json
import os
import pathlib
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import tideline
import tideline.aio

from support import ROOT, message
from test_aio import Server

BOT = ROOT / "examples" / "python" / "bot.py"
SERVER = os.environ.get("TIDELINE_SERVER", str(ROOT / "out" / "tideline-server"))
#: At least so many messages are written.
MESSAGES, KILLS, BEGUN = 1_000, 20, 10
#: More than the feed keeps: `changesKept` of Limits.swift.
OVERFLOW = 100_100


class Line:
    """A connection to the server, which is told what the bot answers."""

    def __init__(self, port, user):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.rest = b""
        self.number = 0
        #: Answers that were pushed: at most as many as there are.
        self.answers = 0
        self.ask("hello", user=user)

    def read(self, seconds=60):
        """The next line, or None."""
        while b"\n" not in self.rest:
            if not select.select([self.socket], [], [], seconds)[0]:
                return None
            self.rest += self.socket.recv(1 << 16)
        line, _, self.rest = self.rest.partition(b"\n")
        value = json.loads(line)
        if value["type"] == "message_new" and value["message"]["sender_id"] == "eva":
            self.answers += 1
        return value

    def ask(self, kind, **members):
        self.number += 1
        wanted = str(self.number)
        self.socket.sendall(json.dumps(
            {"type": kind, "request_id": wanted, **members}).encode() + b"\n")
        while value := self.read():
            if value.get("request_id") == wanted:
                if value["status"] != "ok":
                    raise AssertionError(value)
                return value.get("data", {})
        raise AssertionError("the server does not answer")

    def close(self):
        self.socket.close()


class Bot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "eva.tideline")
        self.server = subprocess.Popen(
            [SERVER, "--tcp-port", "0", "--ws-port", "0", "--seed", "3", "--messages", "600",
             "--conversations", "4", "--resolution", "ms", "--capability", "idempotent_send"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, self.server)
        for line in self.server.stdout:
            if line.startswith("tideline-server ready"):
                self.port = int(line.split("tcp=")[1].split()[0])
                break
        self.addCleanup(self.end_bot)
        self.process = None
        self.random = random.Random(60)
        self.line = Line(self.port, "eva")
        self.addCleanup(self.line.close)
        self.asked = 0
        self.rooms = [room["conversation_id"] for room in
                      self.line.ask("admin_conversations")["conversations"]]

    def end(self, process):
        process.kill()
        process.wait()
        process.stdout.close()

    def end_bot(self):
        if self.process is not None and self.process.poll() is None:
            self.end(self.process)

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, BOT, str(self.port), "eva", str(self.file)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill(self):
        """A bot that ended by itself has failed: it says why."""
        if self.process.poll() is not None:
            self.fail(self.process.stdout.read())
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def post(self, room, count):
        """Others write."""
        self.line.ask("admin_post", conversation_id=room, count=count, over_s=count)
        self.asked += count

    def rows(self):
        """All messages that the server has."""
        for room in self.rooms:
            offset, page = 0, True
            while page:
                page = self.line.ask("get_messages", conversation_id=room, limit=100,
                                     offset=offset)["messages"]
                offset += len(page)
                yield from page

    def look(self):
        """What is to be answered, and how often each was. Control messages are for no person."""
        born = datetime.datetime.fromtimestamp(self.kept()[0] / 1e6, datetime.timezone.utc)
        asked, answered = set(), collections.Counter()
        for row in self.rows():
            if row["sender_id"] == "eva":
                answered[row.get("reply_to")] += 1
            elif (datetime.datetime.fromisoformat(row["created_at"] + "+00:00") > born
                  and "_control" not in row["payload"]):
                asked.add(row["message_id"])
        return asked, collections.Counter({id: answered[id] for id in asked if answered[id]})

    def until(self, answers):
        """Reads pushes until there are so many answers. What is pushed as the bot dies may get
        lost, so where none comes they are counted."""
        quiet = 0
        while self.line.answers < answers:
            if self.line.read(1) is None:
                quiet += 1
                asked, answered = self.look()
                self.line.answers = answered.total()
                if quiet == 60:
                    self.fail(f"{len(asked - set(answered))} messages are not answered")
            if self.process.poll() is not None:
                self.fail(self.process.stdout.read())

    def begin(self, count):
        """A conversation begins, with more messages than a page has in some."""
        other = Line(self.port, f"new-{len(self.rooms)}")
        made = other.ask("create_conversation", participant_ids=["eva"], title="new",
                         client_id=f"new-{len(self.rooms)}")
        other.close()
        self.rooms.append(made["conversation"]["conversation_id"])
        self.post(self.rooms[-1], count)

    def overflow(self):
        """Another program has the file meanwhile: it fetches messages, and so much happens that the
        feed does not keep the entries that tell of them."""
        room = self.rooms[0]
        self.post(room, 40)
        seen = self.kept()[-1]

        async def fetch():
            async with tideline.aio.open(**how, connect=tideline.aio.stream(
                    "127.0.0.1", self.port, hello={"type": "hello", "user": "eva"})) as client:
                await client.sync(room)
        how = {"path": self.file, "key": tideline.key_file(f"{self.file}.key"), "user_id": "eva",
               "profile": tideline.Profile(capabilities=tideline.Capabilities.IDEMPOTENT_SEND)}
        asyncio.run(fetch())
        with tideline.Client(**how) as client:
            for number in range(OVERFLOW):
                client.draft(room, str(number))
            self.assertTrue(client.changes(seen).resync)
            self.assertTrue(client.changes(0).resync)

    def kept(self):
        return json.loads(pathlib.Path(f"{self.file}.bot").read_text())

    def test_each_message_is_answered_once(self):
        self.start()
        while not pathlib.Path(f"{self.file}.bot").exists() and self.process.poll() is None:
            self.line.ask("admin_advance", over_s=1)
        self.line.ask("admin_advance", over_s=5)
        begun = 0
        for turn in range(KILLS):
            # It dies anywhere between its start and its last answer.
            self.post(self.random.choice(self.rooms), self.random.randrange(10, 40))
            have = self.line.answers
            self.until(have + self.random.randrange(0, 9 * (self.asked - have) // 10 + 1))
            self.kill()
            if turn == KILLS // 2:
                self.overflow()
            elif begun < BEGUN and turn % 2 == 0 or KILLS - turn <= BEGUN - begun:
                begun += 1
                self.begin(self.random.choice((1, 30, 75)))
            self.start()
        self.assertEqual(begun, BEGUN)
        while (missing := MESSAGES - len(self.look()[0])) > 0:
            self.line.ask("admin_post", conversation_id=self.random.choice(self.rooms),
                          count=min(missing, 100), over_s=missing)
        total = len(self.look()[0])
        self.until(total)
        # A last life, which is told that nothing was answered yet: it looks at everything again.
        self.kill()
        pathlib.Path(f"{self.file}.bot").write_text(json.dumps([*self.kept()[:-1], 1]))
        self.start()
        while self.kept()[-1] == 1 and self.process.poll() is None:
            self.line.ask("admin_advance", over_s=1)
        # Whatever else it has to say goes out before this answer does.
        self.begin(1)
        self.until(total + 1)
        self.kill()
        asked, answered = self.look()
        self.assertEqual(len(asked), total + 1)
        self.assertEqual(answered, collections.Counter(asked))


class Rooms(Server):
    """A server with a list of conversations, which it may refuse."""

    def __init__(self, messages):
        super().__init__(messages)
        self.error = None

    def answer(self, request):
        if request["type"] == "get_conversations":
            rooms = [{"conversation_id": "c", "participant_ids": ["me", "you"],
                      "last_message": self.messages[-1]}]
            return self.error or {"conversations": rooms, "total_count": 1}
        if request["type"] == "send_message":
            return {"message": message(
                f"answer-{request['reply_to']}", created_at="2024-05-01T12:00:00",
                sender_id="me", client_id=request["client_id"], reply_to=request["reply_to"])}
        return super().answer(request)

    def post(self, created_at):
        """A new message, pushed to whom is connected."""
        self.messages.append(message(len(self.messages) + 1, created_at=created_at))
        for transport in self.transports:
            transport.hand({"type": "message_new", "message": self.messages[-1]})

    def answered(self):
        return [one["reply_to"] for one in self.requests if one["type"] == "send_message"]


class Starts(unittest.IsolatedAsyncioTestCase):
    """Its first start, and lists that it is not given; in this process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "eva")
        self.server = Rooms([message(number) for number in range(1, 6)])
        self.failures = []

    @contextlib.asynccontextmanager
    async def running(self):
        """The bot, connected to the server; syncs of the list fail as `failures` says."""
        true = tideline.aio.Client.sync

        async def sync(client, *asked, **more):
            if more.get("kind") is tideline.SyncKind.CONVERSATIONS and self.failures:
                return tideline.SyncStatus(
                    tideline.SyncPhase.ENDED, self.failures.pop(), 0, 0, 0, 0)
            return await true(client, *asked, **more)
        with (mock.patch.object(tideline.aio, "stream", lambda *_, **__: self.server.connect),
              mock.patch.object(tideline.aio.Client, "sync", sync)):
            task = asyncio.ensure_future(
                runpy.run_path(str(BOT))["main"]("0", "me", self.file))
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.wait({task})

    async def until(self, task, holds):
        while not holds() and not task.done():
            await asyncio.sleep(0.001)
        if task.done():
            task.result()

    def was_started(self):
        return os.path.exists(f"{self.file}.bot")

    async def test_a_list_that_is_refused_for_now_is_asked_for_again(self):
        self.failures = [tideline.Status.UNAVAILABLE]
        async with self.running() as task:
            await self.until(task, lambda: self.was_started() and any(
                one["type"] == "get_messages" for one in self.server.requests))
            self.server.post("2024-05-01T11:00:00")
            await self.until(task, lambda: "m6" in self.server.answered())
            self.assertEqual(self.server.answered(), ["m6"])

    async def test_a_room_that_is_new_waits_for_the_list(self):
        async with self.running() as task:
            await self.until(task, self.was_started)
        self.failures = [tideline.Status.UNAVAILABLE] * 3
        self.server.transports.clear()
        self.server.post("2024-05-01T11:00:00")
        async with self.running() as task:
            await self.until(task, self.server.answered)
            self.assertEqual((self.server.answered(), self.failures), (["m6"], []))

    async def test_it_ends_where_there_is_no_list(self):
        self.server.error = ("forbidden", "no")
        async with self.running() as task:
            with self.assertRaisesRegex(tideline.TidelineError, "REFUSED"):
                await self.until(task, self.was_started)

    async def test_messages_of_the_second_of_its_first_start(self):
        async with self.running() as task:
            await self.until(task, self.was_started)
            self.server.post(self.server.messages[-1]["created_at"])
            self.server.post("2024-05-01T11:00:00")
            await self.until(task, lambda: "m7" in self.server.answered())
            self.assertEqual(self.server.answered(), ["m6", "m7"])


if __name__ == "__main__":
    unittest.main()

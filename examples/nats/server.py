"""A private NATS server with JetStream on this machine, and people who write there.

It lies where `make nats` has unpacked it, runs as a process of this program, and listens on the
loopback alone.
"""
import asyncio
import json
import os
import secrets
import signal
import socket

import nats
import tideline
from adapter import Adapter
from nats.js.api import AckPolicy, ConsumerConfig
from process import Process

NAME = "nats"
# What the probe has found out, and that an id proves its place. The server knows a repeated send
# for the stream's `duplicate_window`, from any connection.
WINDOW_S = 120
PROFILE = tideline.Profile(
    page_limit=500, idempotency_s=WINDOW_S,
    capabilities=tideline.Capabilities.LOG | tideline.Capabilities.LOG_REFUSES |
    tideline.Capabilities.IDEMPOTENT_SEND)
# A clock that is stepped does not reach a program of Go.
LACKS = frozenset({"backdate"})
CONFIG = """
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/store" }}
authorization {{ users: [
  {{ user: admin, password: "{password}" }}
{users}
] }}
"""
# A user reads rooms, and publishes to them under that name alone. Nobody but the admin makes,
# purges or deletes a stream.
USER = """  {{ user: {name}, password: "{password}", permissions: {{
    subscribe: ["_INBOX.{name}.>", "room.>"], publish: ["room.*.*.{name}", "$JS.API.INFO",
      "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*",
      "$JS.API.CONSUMER.>"] }} }}"""


class Server(Process):
    """Started and ended here."""

    def __init__(self, folder):
        super().__init__(folder)
        self.users, self.password = {}, secrets.token_hex(8)
        self.url, self.loop = f"nats://127.0.0.1:{self.port}", asyncio.new_event_loop()
        self.start()

    def configure(self):
        (self.folder / "nats.conf").write_text(CONFIG.format(
            port=self.port, folder=self.folder, password=self.password, users="\n".join(
                USER.format(name=name, password=each) for name, each in self.users.items())))

    def start(self):
        self.configure()
        self.run([os.environ["TIDELINE_NATS"], "-c", self.folder / "nats.conf"],
                 lambda: socket.create_connection(("127.0.0.1", self.port), timeout=5).close())

    def register(self, name):
        """An account, and its password."""
        self.users[name] = secrets.token_hex(8)
        self.configure()
        self.process.send_signal(signal.SIGHUP)
        return self.users[name]

    def ask(self, work):
        """Does something as the admin, with a connection of its own."""
        async def asked():
            link = await nats.connect(self.url, user="admin", password=self.password)
            try:
                return await work(link.jetstream(timeout=30))
            finally:
                await link.close()

        return self.loop.run_until_complete(asked())

    def listed(self, room):
        """All messages of a room that are there, in the order of the stream: ids and client ids."""
        async def all_of(jet):
            made = await jet.add_consumer(room, ConsumerConfig(ack_policy=AckPolicy.NONE))
            pull, found = await jet.pull_subscribe_bind(consumer=made.name, stream=room), []
            while len(found) < made.num_pending:
                found += await pull.fetch(made.num_pending - len(found), timeout=30)
            await jet.delete_consumer(room, made.name)
            return found

        found, gone = {}, set()
        for each in self.ask(all_of):
            kind, user = each.subject.split(".")[2:]
            parts, said = each.reply.split("."), json.loads(each.data)
            if kind == "say":
                found[f"{parts[5]}-{parts[7]}-{user}"] = said.get("client_id")
            elif kind == "delete" and said["target_id"].endswith(f"-{user}"):
                gone.add(said["target_id"])
        return [pair for pair in found.items() if pair[0] not in gone]

    def remove(self, room, keys):
        """Takes single messages out of the stream, as an operator may."""
        async def removed(jet):
            for key in keys:
                await jet.delete_msg(room, int(key.partition("-")[0]))

        self.ask(removed)

    def purge(self, room, key):
        """Drops the history before a message, as a retention of the server's would."""
        self.ask(lambda jet: jet.purge_stream(room, seq=int(key.partition("-")[0])))


class Person:
    """A user of the server, beside Tideline."""

    def __init__(self, server, name):
        self.server, self.id, self.password = server, name, server.register(name)
        self.loop, self.link = asyncio.new_event_loop(), None

    def adapter(self):
        return Adapter(self.server.url, self.id, self.password)

    def found(self, title, guests):
        """A room, which every user may enter. Gives its id."""
        room = title.lower()
        self.server.ask(lambda jet: jet.add_stream(
            name=room, description=title, subjects=[f"room.{room}.*.*"],
            duplicate_window=WINDOW_S))
        self.enter(room)
        return room

    def enter(self, room):
        """Connects, anew where the server was away."""
        self.leave()
        self.link = self.loop.run_until_complete(nats.connect(
            self.server.url, user=self.id, password=self.password,
            inbox_prefix=f"_INBOX.{self.id}".encode()))

    def leave(self):
        if self.link is not None:
            self.loop.run_until_complete(self.link.close())
            self.link = None

    def close(self):
        self.leave()
        self.loop.close()

    def put(self, room, change, entries):
        """Puts entries, and gives their ids in the stream."""
        async def put():
            jet = self.link.jetstream(timeout=30)
            made = [await jet.publish_async(
                f"room.{room}.{change}.{self.id}", json.dumps(each).encode()) for each in entries]
            return [(await each).seq for each in made]

        numbers = self.loop.run_until_complete(put())

        async def times(jet):
            made = await jet.add_consumer(room, ConsumerConfig(
                ack_policy=AckPolicy.NONE, deliver_policy="by_start_sequence",
                opt_start_seq=numbers[0]))
            pull, found = await jet.pull_subscribe_bind(consumer=made.name, stream=room), {}
            while not set(numbers) <= found.keys():
                for each in await pull.fetch(numbers[-1] - numbers[0] + 1 - len(found), timeout=30):
                    parts = each.reply.split(".")
                    found[int(parts[5])] = parts[7]
            await jet.delete_consumer(room, made.name)
            return found

        at = self.server.ask(times)
        return [f"{each}-{at[each]}-{self.id}" for each in numbers]

    def say(self, room, texts):
        return self.put(room, "say", [{"payload": each} for each in texts])

    def edit(self, room, pairs):
        self.put(room, "edit", [{"target_id": key, "payload": text} for key, text in pairs])

    def redact(self, room, keys):
        self.put(room, "delete", [{"target_id": key} for key in keys])

    def react(self, room, pairs):
        self.put(room, "react", [{"target_id": key, "reaction": each} for key, each in pairs])

    def read(self, room, key):
        self.put(room, "read", [{"target_id": key}])

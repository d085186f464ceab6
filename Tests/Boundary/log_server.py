"""The reference server with --log, and a client that is carried to it over TCP."""

import json
import os
import socket
import subprocess
import time

import tideline
from tideline.probe.link import Lines

from support import KEY, ROOT

LOG = tideline.Profile(
    page_limit=20, capabilities=tideline.Capabilities.LOG | tideline.Capabilities.LOG_REFUSES
    | tideline.Capabilities.LOG_EPOCH)


class LogServer:
    """A server with one room that was empty, and a connection that rules it."""

    def __init__(self, *options):
        program = os.environ.get("TIDELINE_SERVER", str(ROOT / "out" / "tideline-server"))
        self.process = subprocess.Popen(
            [program, "--tcp-port", "0", "--ws-port", "0", "--messages", "0", "--conversations",
             "1", "--log", *options], stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        self.port = int(ready.split("tcp=")[1].split()[0])
        self.control = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.lines = self.control.makefile("r", encoding="utf-8")
        self.ask("hello", user="control")
        made = self.ask("create_conversation", participant_ids=["eva", "jan"])
        self.room = made["conversation"]["conversation_id"]

    def ask(self, kind, **members):
        """Gives the data of the answer."""
        self.control.sendall(json.dumps({"type": kind, **members}).encode() + b"\n")
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("type") == kind and "status" in answer:
                assert answer["status"] == "ok", answer
                return answer["data"]
        raise AssertionError("the server has closed")

    def admin(self, what, **members):
        """Does something in the room."""
        return self.ask(f"admin_{what}", conversation_id=self.room, **members)

    def post(self, count, **more):
        return self.admin("post", count=count, **more)["message_ids"]

    def entries(self):
        """The log, as the server lists it."""
        found, place = [], {}
        while True:
            page = self.ask("get_entries", conversation_id=self.room, limit=100, **place)
            found = page["entries"] + found
            if "before" not in page:
                return found
            place = {"before": page["before"]}

    def truth(self):
        """What is to be shown: triples of an id, a payload or None, and reactions."""
        rows = {}
        for entry in self.entries():
            target, who = entry.get("target_id"), entry.get("sender_id")
            if "message_id" in entry:
                gone = entry.get("deleted", False)
                rows[entry["message_id"]] = [None if gone else entry["payload"], {}]
            elif target not in rows:
                continue
            elif entry["change"] == "edit":
                rows[target][0] = entry["payload"]
            elif entry["change"] == "delete":
                rows[target] = [None, {}]
            elif entry["change"] in ("react", "unreact", "reactions"):
                for users in rows[target][1].values():
                    if entry["change"] == "reactions":
                        users.discard(who)
                for one in entry.get("reactions", [entry.get("reaction")]):
                    users = rows[target][1].setdefault(one, set())
                    (users.discard if entry["change"] == "unreact" else users.add)(who)
        return [(key, payload, {one: users for one, users in all_.items() if users})
                for key, (payload, all_) in rows.items()]

    def close(self):
        self.lines.close()
        self.control.close()
        self.process.terminate()
        self.process.stdout.close()
        self.process.wait()


class Carried:
    """A client and its connection. ``asked`` are the verbs that went out."""

    def __init__(self, server, path=None, profile=LOG, **more):
        self.server, self.asked, self.link = server, [], None
        self.client = tideline.Client(
            path, KEY if path else None, user_id="eva", profile=profile, **more)

    def connect(self):
        self.disconnect()
        self.link = Lines("127.0.0.1", self.server.port)
        self.link.send(b'{"type":"hello","user":"eva"}')
        self.link.receive(30)
        self.client.connected()
        self.settle()

    def disconnect(self):
        if self.link is not None:
            self.client.disconnected()
            self.link.close()
            self.link = None

    def close(self):
        self.disconnect()
        self.client.close()

    def carry(self):
        """Takes what is to be sent to the server. Gives the verbs."""
        verbs = []
        for frame in self.client.frames():
            verbs.append(json.loads(frame.bytes)["type"])
            self.link.send(frame.bytes)
            self.client.frame_sent(frame.id)
        self.asked += verbs
        return verbs

    def settle(self):
        """Goes on until nothing is waited for. The answer to a request that the library does not
        make says that all that the server had pushed before it has come."""
        while True:
            self.carry()
            state = self.client.state()
            if state.requests_in_flight:
                self.client.receive(self.link.receive(30))
                continue
            if state.syncs_left:
                # Pushes that come together are checked together, after as long as it says.
                wait = self.client.advance()
                if wait is None and not self.client.state().frames_waiting:
                    raise AssertionError("a sync waits for nothing")
                time.sleep((wait or 0) / 1000)
                continue
            self.link.send(b'{"type":"admin_conversations","request_id":"mark"}')
            while b'"mark"' not in (came := self.link.receive(30)):
                self.client.receive(came)
            if not self.carry():
                return

    def sync(self, kind=tideline.SyncKind.LATEST, **more):
        number = self.client.sync(self.server.room, kind, **more)
        self.settle()
        return self.client.sync_status(number)

    def scroll(self):
        """Down to the start, as a reader who scrolls."""
        for _ in range(100):
            coverage = self.client.messages(self.server.room, limit=10_000).coverage
            if coverage.whole and coverage.stop == tideline.Stop.START:
                return
            self.sync(tideline.SyncKind.OLDER, want=20)
        raise AssertionError("the start is not reached")

    def page(self):
        return self.client.messages(self.server.room, limit=10_000)

    def shown(self):
        """As the truth of the server."""
        return [(row.id, None if tideline.MessageFlags.DELETED in row.flags else row.json,
                 {one: set(users) for one, users in json.loads(row.reactions_json or "{}").items()})
                for row in self.page().messages]

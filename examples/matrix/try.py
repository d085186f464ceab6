"""A private Synapse on this machine, a room in it, and a client that is carried by the adapter.

    try.py FOLDER

FOLDER keeps the server's files. What the client shows is held against what was sent, edited and
redacted; then the probe looks at the adapter. The last line sums what was checked.
"""
import json
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import quote

import tideline
from adapter import Adapter
from tideline.probe import Level, Setup, probe

# What the probe has found out.
PROFILE = tideline.Profile(
    truncates=tideline.Truncates.NEWEST, ties=tideline.Ties.ARRIVAL,
    capabilities=tideline.Capabilities.CHANGED_SINCE | tideline.Capabilities.IDEMPOTENT_SEND)
MORE = """
enable_registration: true
enable_registration_without_verification: true
suppress_key_server_warning: true
rc_message: {per_second: 100000, burst_count: 100000}
rc_registration: {per_second: 1000, burst_count: 1000}
"""


class Synapse:
    """The server, which is started and ended here and listens on the loopback alone."""

    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        config = folder / "homeserver.yaml"
        command = [sys.executable, "-m", "synapse.app.homeserver", "-c", config.name]
        subprocess.run([*command, "--server-name", "localhost", "--generate-config",
                        "--report-stats=no"], cwd=folder, check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        text = config.read_text().replace("port: 8008", f"port: {self.port}")
        config.write_text(text + "\n" + MORE)
        with open(folder / "run.log", "w") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        self.base = f"http://127.0.0.1:{self.port}"
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.base}/_matrix/client/versions", timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise SystemExit((folder / "run.log").read_text()[-2_000:])

    def close(self):
        self.process.terminate()
        self.process.wait()


class Person:
    """A user of the server, beside Tideline."""

    def __init__(self, server, name):
        self.server, self.token = server, None
        made = self.http("POST", "/register", {
            "username": name, "password": secrets.token_hex(8),
            "auth": {"type": "m.login.dummy"}})
        self.token, self.id = made["access_token"], made["user_id"]

    def http(self, method, path, body=None):
        head = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(
            f"{self.server.base}/_matrix/client/v3{path}", json.dumps(body or {}).encode(), head,
            method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def put(self, room, kind, content):
        return self.http("PUT", f"/rooms/{quote(room)}/send/{kind}/{secrets.token_hex(8)}",
                         content)["event_id"]

    def say(self, room, text):
        return self.put(room, "m.room.message", {"msgtype": "m.text", "body": text})

    def edit(self, room, event, text):
        self.put(room, "m.room.message", {
            "msgtype": "m.text", "body": f"* {text}",
            "m.new_content": {"msgtype": "m.text", "body": text},
            "m.relates_to": {"rel_type": "m.replace", "event_id": event}})

    def react(self, room, event, key):
        self.put(room, "m.reaction", {
            "m.relates_to": {"rel_type": "m.annotation", "event_id": event, "key": key}})

    def redact(self, room, event):
        self.http("PUT", f"/rooms/{quote(room)}/redact/{quote(event)}/{secrets.token_hex(8)}")

    def adapter(self):
        return Adapter(self.server.base, self.token, self.id)


class Story:
    """What was said in a room, and what a client shows of it."""

    def __init__(self, server):
        self.jan, self.eva = Person(server, "jan"), Person(server, "eva")
        self.room = self.jan.http("POST", "/createRoom", {
            "name": "Harbour", "invite": [self.eva.id]})["room_id"]
        self.eva.http("POST", f"/join/{quote(self.room)}")
        self.truth, self.failed, self.passed = {}, 0, 0

    def happen(self, count):
        """Jan writes; some of it, and some of what was there, is edited, redacted, reacted to."""
        for number in range(count):
            text = f"text {len(self.truth)} {number} \N{SNOWMAN}"
            self.truth[self.jan.say(self.room, text)] = text
        for at, event in enumerate(list(self.truth)):
            # One's own messages alone can be edited.
            if at % 29 == 7 and self.truth[event].startswith("text"):
                self.truth[event] = f"edited {at}"
                self.jan.edit(self.room, event, self.truth[event])
            elif at % 31 == 5:
                self.jan.redact(self.room, event)
                del self.truth[event]

    def check(self, name, isRight):
        self.passed, self.failed = self.passed + bool(isRight), self.failed + (not isRight)
        print(f"{name}: {'right' if isRight else 'WRONG'}", flush=True)

    def carry(self, client, adapter):
        count = 0
        while (frame := client.next_frame()) is not None:
            adapter.send(frame.bytes)
            client.frame_sent(frame.id)
            number = json.loads(frame.bytes)["request_id"].encode()
            # Pushes may come before the answer.
            while (came := adapter.receive(30)) is not None:
                client.receive(came)
                if b'"status"' in came and number in came:
                    break
            count += 1
        return count

    def shown(self, client):
        page = client.messages(self.room, limit=10_000)
        return page.coverage.whole, {row.id: row.json for row in page.messages}

    def run(self, folder):
        key = bytes(range(tideline.KEY_BYTES))
        for turn, count in enumerate((130, 30, 5)):
            self.happen(count)
            # The process dies between two turns; the file stays.
            with tideline.Client(folder / "eva.tideline", key, user_id=self.eva.id,
                                 profile=PROFILE) as client:
                adapter = self.eva.adapter()
                client.connected()
                client.sync(self.room)
                self.carry(client, adapter)
                client.sync(self.room, tideline.SyncKind.OLDER, want=10_000)
                self.carry(client, adapter)
                whole, rows = self.shown(client)
                self.check(f"turn {turn}, {len(rows)} messages", whole and rows == self.truth
                           and list(rows) == list(self.truth))
                client.send(self.room, f"from Eva {turn}")
                self.carry(client, adapter)
                whole, rows = self.shown(client)
                last = list(rows)[-1]
                self.check("a message of her own", rows[last] == f"from Eva {turn}")
                self.truth[last] = rows[last]
                self.jan.react(self.room, last, "+")
                push = adapter.receive(20)
                client.receive(push)
                row = client.messages(self.room, limit=1).messages[-1]
                self.check("a reaction that is pushed",
                           json.loads(row.reactions) == {"+": [self.jan.id]})


def main(folder):
    server = Synapse(folder)
    try:
        story = Story(server)
        story.run(folder)
        scratch = story.eva.http("POST", "/createRoom", {"name": "Scratch"})["room_id"]
        report = probe(Setup(dial=story.eva.adapter, conversation=scratch, messages=40))
        for found in [*report.of(Level.FAULT), *report.of(Level.TRAP)]:
            print(f"the probe says: {found.name}: {found.text}")
        story.check("the probe finds nothing", not report.of(Level.FAULT))
    finally:
        server.close()
    print(f"matrix: {story.passed} passed, {story.failed} failed")
    return int(story.failed > 0)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))

"""A private Synapse on this machine, and people who write there.

It runs as a process of this program, in the environment that `make matrix` made, and listens on
the loopback alone.
"""
import hashlib
import hmac
import json
import secrets
import sqlite3
import subprocess
import sys
import time
import urllib.request
from urllib.parse import quote, urlencode

import tideline
from adapter import KEY, Adapter, Listed
from process import Process

NAME = "matrix"
LACKS = frozenset()
# What the probe has found out.
PROFILE = tideline.Profile(
    page_limit=500, capabilities=tideline.Capabilities.LOG | tideline.Capabilities.IDEMPOTENT_SEND)
MORE = """
enable_registration: true
enable_registration_without_verification: true
registration_shared_secret: for this machine alone
suppress_key_server_warning: true
app_service_config_files: [bridge.yaml]
rc_message: {per_second: 100000, burst_count: 100000}
rc_registration: {per_second: 1000, burst_count: 1000}
"""
# A bridge, which may say when something was said.
BRIDGE = """
id: bridge
url: null
as_token: {token}
hs_token: {token}
sender_localpart: bridge
rate_limited: false
namespaces: {{users: [{{exclusive: true, regex: "@old_.*"}}], rooms: [], aliases: []}}
"""


class Server(Process):
    """Started and ended here."""

    def __init__(self, folder):
        super().__init__(folder)
        self.token = secrets.token_hex(16)
        config = folder / "homeserver.yaml"
        self.command = [sys.executable, "-m", "synapse.app.homeserver", "-c", config.name]
        subprocess.run([*self.command, "--server-name", "localhost", "--generate-config",
                        "--report-stats=no"], cwd=folder, check=True, capture_output=True)
        text = config.read_text().replace("port: 8008", f"port: {self.port}")
        config.write_text(text + "\n" + MORE)
        (folder / "bridge.yaml").write_text(BRIDGE.format(token=self.token))
        self.base = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.run(self.command, lambda: urllib.request.urlopen(
            f"{self.base}/_matrix/client/versions", timeout=5).read())

    def http(self, method, path, body=None, token=None):
        request = urllib.request.Request(
            self.base + path, None if method == "GET" else json.dumps(body or {}).encode(),
            {"Authorization": f"Bearer {token}"} if token else {}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def ask(self, query, *values):
        """Asks the server's own file, past the server."""
        base = sqlite3.connect(f"file:{self.folder}/homeserver.db?mode=ro", uri=True, timeout=30)
        rows = base.execute(query, values).fetchall()
        base.close()
        return rows

    def listed(self, room):
        """All messages of a room that are there, in the order of the room: ids and client ids."""
        rows = self.ask(
            "SELECT e.event_id, j.json FROM events e JOIN event_json j USING (event_id) "
            "LEFT JOIN redactions r ON r.redacts = e.event_id WHERE e.room_id = ? AND "
            "e.type = 'm.room.message' AND r.event_id IS NULL "
            "ORDER BY e.topological_ordering, e.stream_ordering", room)
        found = [(key, json.loads(text)["content"]) for key, text in rows]
        return [(key, content.get(KEY)) for key, content in found
                if content.get("m.relates_to", {}).get("rel_type") != "m.replace"]

    def purge(self, room, key):
        """Drops the history before a message, as a retention of the server's would."""
        made = self.http("GET", "/_synapse/admin/v1/register")["nonce"]
        name, password = f"admin{secrets.token_hex(4)}", secrets.token_hex(8)
        mac = hmac.new(b"for this machine alone", b"\0".join(
            [made.encode(), name.encode(), password.encode(), b"admin"]), hashlib.sha1)
        token = self.http("POST", "/_synapse/admin/v1/register", {
            "nonce": made, "username": name, "password": password, "admin": True,
            "mac": mac.hexdigest()})["access_token"]
        purge = self.http(
            "POST", f"/_synapse/admin/v1/purge_history/{quote(room)}/{quote(key)}",
            {"delete_local_events": True}, token)["purge_id"]
        while (state := self.http("GET", f"/_synapse/admin/v1/purge_history_status/{purge}",
                                  token=token)["status"]) == "active":
            time.sleep(0.2)
        if state != "complete":
            raise RuntimeError(f"the purge: {state}")

    def backdate(self, room, texts, hours):
        """Somebody says something, hours ago: a bridge brings what was said elsewhere."""
        who = {"user_id": "@old_bridge:localhost"}
        if not getattr(self, "bridged", False):
            self.bridged = True
            self.http("POST", "/_matrix/client/v3/register", {
                "type": "m.login.application_service", "username": "old_bridge"}, self.token)
        self.http("POST", f"/_matrix/client/v3/join/{quote(room)}?{urlencode(who)}",
                  token=self.token)
        made = {}
        for text in texts:
            more = urlencode({**who, "ts": int((time.time() - hours * 3600) * 1000)})
            made[self.http(
                "PUT", f"/_matrix/client/v3/rooms/{quote(room)}/send/m.room.message/"
                f"{secrets.token_hex(8)}?{more}", {"msgtype": "m.text", "body": text},
                self.token)["event_id"]] = text
        return made


class Person:
    """A user of the server, beside Tideline."""

    def __init__(self, server, name):
        self.server = server
        made = server.http("POST", "/_matrix/client/v3/register", {
            "username": name, "password": secrets.token_hex(8),
            "auth": {"type": "m.login.dummy"}})
        self.token, self.id = made["access_token"], made["user_id"]
        self.listed = Listed()

    def adapter(self):
        return Adapter(self.server.base, self.token, self.id, self.listed)

    def http(self, method, path, body=None):
        return self.server.http(method, f"/_matrix/client/v3{path}", body, self.token)

    def found(self, title, guests):
        """A room with guests. Gives its id."""
        made = self.http("POST", "/createRoom", {
            "name": title, "preset": "public_chat", "invite": [guest.id for guest in guests]})
        room = made["room_id"]
        for guest in guests:
            guest.http("POST", f"/join/{quote(room)}")
        return room

    def enter(self, room):
        """There is no connection to be made anew."""

    def close(self):
        """There is no connection."""

    def put(self, room, kind, content):
        return self.http("PUT", f"/rooms/{quote(room)}/send/{kind}/{secrets.token_hex(8)}",
                         content)["event_id"]

    def say(self, room, texts):
        return [self.put(room, "m.room.message", {"msgtype": "m.text", "body": text})
                for text in texts]

    def edit(self, room, pairs):
        for event, text in pairs:
            self.put(room, "m.room.message", {
                "msgtype": "m.text", "body": f"* {text}",
                "m.new_content": {"msgtype": "m.text", "body": text},
                "m.relates_to": {"rel_type": "m.replace", "event_id": event}})

    def react(self, room, pairs):
        for event, key in pairs:
            self.put(room, "m.reaction", {
                "m.relates_to": {"rel_type": "m.annotation", "event_id": event, "key": key}})

    def redact(self, room, keys):
        for key in keys:
            self.http("PUT", f"/rooms/{quote(room)}/redact/{quote(key)}/{secrets.token_hex(8)}")

    def read(self, room, key):
        self.http("POST", f"/rooms/{quote(room)}/receipt/m.read/{quote(key)}")

"""A private ejabberd on this machine, with an archive for rooms.

It lies where `make ejabberd` has unpacked it, runs as a process of this program, and listens on the
loopback alone: without a name in a cluster, so that no port mapper is started.
"""
import json
import os
import pathlib
import secrets
import socket
import sqlite3
import subprocess
import urllib.request

import tideline
from people import SERVICE, Archive

NAME = "ejabberd"
# Entries are named by their time in microseconds, so a clock that is set back puts what follows in
# the middle of the archive: no log has that.
LACKS = frozenset({"backdate"})
# It gives 250 entries at most. An id that is not there is a time to it, so no cursor of an earlier
# connection counts.
PROFILE = tideline.Profile(page_limit=250, capabilities=tideline.Capabilities.LOG)
CONFIG = """
hosts: [localhost]
loglevel: 3
certfiles: []
default_db: sql
sql_type: sqlite
sql_database: "{folder}/archive.sqlite"
auth_method: internal
acl: {{loopback: {{ip: [127.0.0.0/8]}}}}
access_rules: {{c2s: {{allow: all}}, everybody: {{allow: all}}}}
api_permissions:
  "all": {{from: [mod_http_api], who: {{access: {{allow: {{acl: loopback}}}}}}, what: "*"}}
listen:
  - {{port: {port}, ip: "127.0.0.1", module: ejabberd_c2s, access: c2s, starttls: false}}
  - port: {door}
    ip: "127.0.0.1"
    module: ejabberd_http
    request_handlers: {{/api: mod_http_api}}
modules:
  mod_disco: {{}}
  mod_http_api: {{}}
  mod_mam: {{default: always, db_type: sql}}
  mod_muc:
    host: "{service}"
    access: everybody
    access_create: everybody
    access_persistent: everybody
    access_mam: everybody
    history_size: 0
    max_users: 1000
    default_room_options: {{persistent: true, public: true, mam: true, members_only: false}}
  mod_ping: {{}}
"""


class Server(Archive):
    """Started and ended here."""

    def __init__(self, folder):
        super().__init__(folder)
        self.root = pathlib.Path(os.environ["TIDELINE_EJABBERD"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.door = free.getsockname()[1]
        (folder / "ejabberd.yml").write_text(CONFIG.format(
            folder=folder, port=self.port, door=self.door, service=SERVICE))
        schema = (self.root / "usr/share/ejabberd/sql/lite.sql").read_text()
        base = sqlite3.connect(folder / "archive.sqlite")
        base.executescript("PRAGMA journal_mode = WAL;" + schema)
        base.close()
        self.start()

    def start(self):
        erlang = self.root / "usr/lib/erlang"
        programs = next(erlang.glob("erts-*/bin"))
        libraries = next((self.root / "usr/lib").glob("*-linux-gnu"))
        self.run(
            [programs / "erlexec", "-noinput", "+P", "250000", "-mnesia", "dir",
             f'"{self.folder}/mnesia"', "-s", "ejabberd"],
            self.look, {
                **self.environment(), "ROOTDIR": str(erlang), "BINDIR": str(programs),
                "EMU": "beam", "PROGNAME": "erl", "HOME": str(self.folder),
                "ERL_LIBS": str(libraries), "LD_LIBRARY_PATH": str(libraries),
                "EJABBERD_CONFIG_PATH": str(self.folder / "ejabberd.yml"),
                "EJABBERD_LOG_PATH": str(self.folder / "ejabberd.log"),
                "ERL_CRASH_DUMP": str(self.folder / "crash.dump")})

    def register(self, name):
        """An account, and its password."""
        password = secrets.token_hex(8)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.door}/api/register", json.dumps(
                {"user": name, "host": "localhost", "password": password}).encode(),
            {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=30).read()
        return password

    def rows(self, room):
        return self.ask(
            "SELECT CAST(timestamp AS TEXT), xml FROM archive WHERE username = ? "
            "ORDER BY timestamp", room)

    def drop(self, room, key):
        self.ask("DELETE FROM archive WHERE username = ? AND timestamp < ?", room, int(key))

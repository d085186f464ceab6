"""A private Prosody on this machine, with an archive for rooms.

It lies where `make xmpp` has unpacked it, runs as a process of this program, and listens on the
loopback alone.
"""
import os
import pathlib
import secrets
import subprocess

import tideline
from people import Archive

NAME = "xmpp"
LACKS = frozenset()
# What the probe has found out, and that tokens are ids: none is taken for another place. A send is
# confirmed by its echo, and done twice where it is asked twice.
PROFILE = tideline.Profile(
    page_limit=500,
    capabilities=tideline.Capabilities.LOG | tideline.Capabilities.LOG_REFUSES)
CONFIG = """
data_path = "{folder}"
plugin_paths = {{ }}
run_as_root = true
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ }}
s2s_ports = {{ }}
component_ports = {{ }}
modules_enabled = {{ "roster", "saslauth", "disco", "ping" }}
modules_disabled = {{ "s2s", "tls", "offline" }}
authentication = "internal_plain"
allow_unencrypted_plain_auth = true
c2s_require_encryption = false
storage = "sql"
sql = {{ driver = "SQLite3", database = "{folder}/archive.sqlite" }}
log = {{ info = "{folder}/prosody.log" }}
VirtualHost "localhost"
Component "rooms.localhost" "muc"
  modules_enabled = {{ "muc_mam" }}
  muc_room_locking = false
  muc_room_default_persistent = true
  muc_room_default_public = true
  muc_log_expires_after = "never"
  max_history_messages = 0
  max_archive_query_results = 1000
"""


class Server(Archive):
    """Started and ended here."""

    def __init__(self, folder):
        super().__init__(folder)
        self.program = pathlib.Path(os.environ["TIDELINE_PROSODY"])
        self.config = folder / "prosody.cfg.lua"
        self.config.write_text(CONFIG.format(folder=folder, port=self.port))
        # So that who reads the file beside the server does not keep it from writing.
        self.ask("PRAGMA journal_mode = WAL")
        self.start()

    def start(self):
        self.run([self.program / "prosody", "--config", self.config, "-F"], self.look,
                 self.environment())

    def register(self, name):
        """An account, and its password."""
        password = secrets.token_hex(8)
        subprocess.run(
            [self.program / "prosodyctl", "--config", self.config, "register", name, "localhost",
             password], check=True, capture_output=True, cwd=self.folder)
        return password

    def rows(self, room):
        return self.ask(
            "SELECT key, value FROM prosodyarchive WHERE store = 'muc_log' AND user = ? "
            "ORDER BY sort_id", room.partition("@")[0])

    def drop(self, room, key):
        self.ask("DELETE FROM prosodyarchive WHERE store = 'muc_log' AND user = ? AND sort_id < "
                 "(SELECT sort_id FROM prosodyarchive WHERE key = ?)", room.partition("@")[0], key)

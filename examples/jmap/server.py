"""A private Cyrus on this machine, with JMAP and IMAP, and people who write there.

It lies where `make jmap` has unpacked it, runs as a process of this program, and listens on the
loopback alone, where each password is right. People are ordinary mail programs: they append by
IMAP.
"""
import email
import getpass
import imaplib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import uuid
from datetime import datetime, timezone

import tideline
from adapter import Adapter
from process import Process

NAME = "jmap"
# What the probe has found out, and that tokens are ids, which the server refuses where it has them
# not. A mail that is put again is found to be there for as long as it is.
PROFILE = tideline.Profile(
    page_limit=500,
    capabilities=tideline.Capabilities.LOG | tideline.Capabilities.LOG_REFUSES |
    tideline.Capabilities.IDEMPOTENT_SEND)
ACCOUNT = "rooms"
# Who may read and insert, and nothing else, can neither change nor destroy what is there.
RIGHTS = "lri"
IMAPD = """
configdirectory: {folder}/conf
partition-default: {folder}/mail
defaultpartition: default
cyrus_user: {user}
admins: admin
servername: localhost
allowplaintext: yes
sasl_pwcheck_method: alwaystrue
sasl_mech_list: PLAIN
unixhierarchysep: yes
altnamespace: no
virtdomains: off
conversations: yes
search_engine: none
httpmodules: jmap
"""
CYRUS = """
START {{
  recover cmd="{bin}/ctl_cyrusdb -C {folder}/imapd.conf -r"
}}
SERVICES {{
  imap cmd="{bin}/imapd -C {folder}/imapd.conf -U 1000" listen="127.0.0.1:{imap}" prefork=0
  http cmd="{bin}/httpd -C {folder}/imapd.conf -U 1000" listen="127.0.0.1:{port}" prefork=0
}}
EVENTS {{ }}
"""


class Server(Process):
    """Started and ended here."""

    def __init__(self, folder):
        super().__init__(folder)
        self.root, self.mails = pathlib.Path(os.environ["TIDELINE_CYRUS"]), {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.imap = free.getsockname()[1]
        # Cyrus refuses to run as root, and then becomes a user that every Debian has.
        self.user = "mail" if os.getuid() == 0 else getpass.getuser()
        where = {"folder": folder, "user": self.user, "port": self.port, "imap": self.imap,
                 "bin": self.root / "usr/lib/cyrus/bin"}
        (folder / "imapd.conf").write_text(IMAPD.format(**where))
        (folder / "cyrus.conf").write_text(CYRUS.format(**where))
        self.start()
        self.make(f"user/{ACCOUNT}")

    def start(self):
        # Without `db` no database is known to be sound, and each opening writes it anew.
        for name in "conf/db", "mail":
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", self.user, self.folder], check=True)
        libraries = ":".join(map(str, self.root.glob("**/lib/*-linux-gnu")))
        self.run(["setsid", self.root / "usr/lib/cyrus/bin/master", "-D",
                  "-C", self.folder / "imapd.conf", "-M", self.folder / "cyrus.conf",
                  "-p", self.folder / "pid"],
                 lambda: [socket.create_connection(("127.0.0.1", port), timeout=5).close()
                          for port in (self.port, self.imap)],
                 {**os.environ, "LD_LIBRARY_PATH": libraries})

    def end(self, how=signal.SIGTERM):
        """Ends it with its children, which would keep its ports."""
        os.killpg(self.process.pid, how)
        self.process.wait()
        for port in (self.port, self.imap):
            while True:
                with socket.socket() as free:
                    free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        free.bind(("127.0.0.1", port))
                        break
                    except OSError:
                        time.sleep(0.05)

    def login(self, name):
        link = imaplib.IMAP4("127.0.0.1", self.imap)
        link.login(name, "any")
        return link

    def make(self, box):
        """A mailbox, and its id."""
        link = self.login("admin")
        made = good(link.create(box))[0].decode()
        link.logout()
        return re.search(r"MAILBOXID \((\w+)\)", made)[1]

    def open(self, room):
        """A connection of the owner's with a room opened."""
        link = self.login(ACCOUNT)
        for line in good(link.list('""', "INBOX/%")):
            box = line.decode().rpartition(' "/" ')[2]
            if f"({room})".encode() in good(link.status(box, "(MAILBOXID)"))[0]:
                good(link.select(box))
                return link
        raise LookupError(room)

    def listed(self, room):
        """All messages of a room that are there, in the order of their UIDs: ids and client ids."""
        link = self.open(room)
        keys = {}
        for line in good(link.fetch("1:*", "(EMAILID INTERNALDATE)")):
            if line is not None:
                keys[key_of(line)] = line.split()[0]
        if new := [at for key, at in keys.items() if key not in self.mails]:
            # Mails never change, and their ids are their contents.
            for item in good(link.fetch(b",".join(new).decode(),
                                        "(EMAILID INTERNALDATE BODY.PEEK[])")):
                if isinstance(item, tuple):
                    mail = email.message_from_bytes(item[1])
                    self.mails[key_of(item[0])] = json.loads(mail.get_payload(decode=True))
        link.logout()
        gone = {self.mails[key]["target_id"] for key in keys
                if self.mails[key].get("change") == "delete"}
        return [(key, self.mails[key].get("client_id")) for key in keys
                if "change" not in self.mails[key] and key not in gone]

    def remove(self, room, keys):
        """Takes single mails out of the mailbox, as its owner may."""
        link = self.open(room)
        for key in keys:
            at = good(link.search(None, "EMAILID", key.partition(".")[0]))[0].decode()
            good(link.store(at, "+FLAGS.SILENT", r"(\Deleted)"))
        good(link.expunge())
        link.logout()

    def purge(self, room, key):
        """Drops the history before a message, as a retention of the server's would."""
        link = self.open(room)
        at = good(link.search(None, "EMAILID", key.partition(".")[0]))[0].decode()
        good(link.store(f"1:{int(at) - 1}", "+FLAGS.SILENT", r"(\Deleted)"))
        good(link.expunge())
        link.logout()

    def backdate(self, room, texts, hours):
        """Somebody puts mails with a date of hours ago, as an import does."""
        late = Person(self, "late")
        late.found_by(room)
        made = dict(zip(late.put(room, [{"payload": each} for each in texts],
                                 time.time() - hours * 3600), texts))
        late.close()
        return made


def key_of(line):
    """The id and the time of arrival of a mail, as the adapter prints them."""
    at = re.search(rb'INTERNALDATE "([^"]+)"', line)[1].decode().strip()
    at = datetime.strptime(at, "%d-%b-%Y %H:%M:%S %z").astimezone(timezone.utc)
    key = re.search(rb"EMAILID \((\w+)\)", line)[1].decode()
    return f"{key}.{at:%Y-%m-%dT%H:%M:%SZ}"


def good(answer):
    if answer[0] != "OK":
        raise RuntimeError(answer)
    return answer[1]


class Person:
    """A user of the server, beside Tideline."""

    boxes = {}

    def __init__(self, server, name):
        self.server, self.name, self.id, self.link = server, name, f"{name}@localhost", None
        server.make(f"user/{name}")

    def adapter(self):
        return Adapter("127.0.0.1", self.server.port, ACCOUNT, self.id, "any")

    def found(self, title, guests):
        """A room, of which each guest may read, and to which he may add. Gives its id."""
        room = self.server.make(f"user/{ACCOUNT}/{title}")
        self.boxes[room] = f"user/{ACCOUNT}/{title}"
        for each in [self, *guests]:
            each.found_by(room)
        self.enter(room)
        return room

    def found_by(self, room):
        admin = self.server.login("admin")
        good(admin.setacl(self.boxes[room], self.name, RIGHTS))
        admin.logout()

    def enter(self, room):
        """Connects, anew where the server was away."""
        self.close()
        self.link = self.server.login(self.name)

    def close(self):
        if self.link is not None:
            self.link.shutdown()
            self.link = None

    def put(self, room, entries, at=None):
        """Puts entries, and gives their ids."""
        if self.link is None:
            self.enter(room)
        # One command puts them all, since each takes ten writes that wait for the disk.
        box, date = self.boxes[room], f"{imaplib.Time2Internaldate(at)} " if at else ""
        line = f"put APPEND {box}".encode()
        for each in entries:
            mail = (f"From: {self.id}\r\nMessage-ID: <{uuid.uuid4()}@mail>\r\n"
                    f"X-Tideline: {each.get('change', 'message')} by {self.id};\r\n\r\n"
                    f"{json.dumps(each)}\r\n").encode()
            line += f" {date}{{{len(mail)}+}}\r\n".encode() + mail
        self.link.send(line + b"\r\n")
        while not (made := self.link.readline()).startswith(b"put "):
            if not made:
                raise RuntimeError("the server has gone")
        first, _, last = re.search(rb"APPENDUID \d+ ([\d:]+)", made)[1].partition(b":")
        uids = [b"%d" % uid for uid in range(int(first), int(last or first) + 1)]
        good(self.link.select(box, readonly=True))
        found = {}
        for line in good(self.link.uid(
                "fetch", b",".join(uids).decode(), "(EMAILID INTERNALDATE)")):
            found[re.search(rb"UID (\d+)", line)[1]] = key_of(line)
        self.link.unselect()
        return [found[uid] for uid in uids]

    def change(self, room, change, entries):
        self.put(room, [{"change": change, "target_id": key, **more} for key, more in entries])

    def say(self, room, texts):
        return self.put(room, [{"payload": each} for each in texts])

    def edit(self, room, pairs):
        self.change(room, "edit", [(key, {"payload": text}) for key, text in pairs])

    def redact(self, room, keys):
        self.change(room, "delete", [(key, {}) for key in keys])

    def react(self, room, pairs):
        self.change(room, "react", [(key, {"reaction": each}) for key, each in pairs])

    def read(self, room, key):
        self.change(room, "read", [(key, {})])

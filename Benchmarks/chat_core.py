"""A row: a real chat core, Delta Chat's, through the JSON-RPC of its server on a pipe.

It is no cache and is measured by what comes nearest: messages are put in as sent to a group whose
only member is oneself, so nothing is encrypted for anybody and nothing goes to a network; its
database is not encrypted; every call is JSON over a pipe. An account needs a transport, which is
written into its database and never connected. At most 20,000 messages are put in, one call and one
commit each. `warm` reads the ids of the whole conversation and then 50 messages, because that is
how its interface reads a screen; `live_normal` is one message more, without a difference; `cold`
starts the server.
"""

import contextlib
import itertools
import json
import os
import pathlib
import sqlite3
import subprocess

import deltachat_rpc_server

import peer

SERVER = pathlib.Path(deltachat_rpc_server.__file__).parent / "deltachat-rpc-server"
MOST = 20_000
ADDRESS = "bench@example.org"
ACCOUNT = 1


class Core:
    """The server as a child process."""

    def __init__(self, path):
        self._ids = itertools.count(1)
        given = os.environ | {"DC_ACCOUNTS_PATH": str(path), "RUST_LOG": "error"}
        self.process = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=given)

    def __call__(self, method, *params):
        number = next(self._ids)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"{method}: the server is gone")

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def room(self, conversation):
        """The chat of a conversation: the first numbers are the core's own."""
        return conversation + self.rooms()[0]

    def rooms(self):
        return sorted(self("get_chatlist_entries", ACCOUNT, None, None, None))

    def screen(self, chat):
        ids = self("get_message_ids", ACCOUNT, chat, False, False)
        return self("get_messages", ACCOUNT, ids[-peer.SCREEN:])


@contextlib.contextmanager
def opened(path):
    core = Core(path)
    try:
        yield core
    finally:
        core.close()


def configure(path):
    """An account that can write messages and has nowhere to send them."""
    with opened(path) as core:
        core("add_account")
        core("set_config", ACCOUNT, "bcc_self", "0")
    login = {"addr": ADDRESS, "imap": [], "imap_user": ADDRESS, "imap_password": "-", "smtp": [],
             "smtp_user": ADDRESS, "smtp_password": "-", "provider_id": None,
             "certificate_checks": "Automatic", "oauth2": False}
    server = {"server": "", "port": 0, "folder": "", "security": "Automatic", "user": "",
              "password": "-"}
    entered = {"addr": ADDRESS, "imap": server, "smtp": server, "certificate_checks": "Automatic",
               "oauth2": False}
    database = sqlite3.connect(next(path.glob("*/dc.db")))
    database.execute("INSERT INTO transports (addr, entered_param, configured_param)"
                     " VALUES (?, ?, ?)", (ADDRESS, json.dumps(entered), json.dumps(login)))
    database.executemany("INSERT OR REPLACE INTO config (keyname, value) VALUES (?, ?)",
                         [("configured_addr", ADDRESS), ("configured", "1")])
    database.commit()
    database.close()


def text(data, conversation, index):
    return json.loads(data.json(conversation, index))["payload"]["text"]


def ingest(path, data):
    configure(path)
    watch, count = peer.Stopwatch(), 0
    with opened(path) as core:
        for conversation in range(data.conversations):
            chat = core("create_group_chat", ACCOUNT, f"room-{conversation:05}", False)
            for index in range(data.length(conversation)):
                said = text(data, conversation, index)
                with watch:
                    core("misc_send_text_message", ACCOUNT, chat, said)
                count += 1
        with watch:
            core.close()
    peer.told("ingest", count, watch)


def cold(path, data):
    with opened(path) as core:
        chat = core.room(0)
    peer.drop_cache(path)
    watch = peer.Stopwatch()
    with watch:
        core = Core(path)
        core("get_config", ACCOUNT, "configured_addr")
    peer.told("open", 1, watch)
    with watch:
        core.screen(chat)
    core.close()
    peer.told("cold", 1, watch)


def scroll(core, chat):
    """Up to 2,000 messages, 50 at a time; gives how many."""
    ids = core("get_message_ids", ACCOUNT, chat, False, False)[-2000:]
    for first in range(0, len(ids), peer.SCREEN):
        core("get_messages", ACCOUNT, ids[first:first + peer.SCREEN])
    return len(ids)


def read(path, data):
    with opened(path) as core:
        rooms = core.rooms()
        for figure, chats, count in [("first", 1, 1), ("warm", 1, 20), ("spread", 50, 50)]:
            watch = peer.Stopwatch()
            for i in range(count):
                with watch:
                    core.screen(rooms[i % min(chats, len(rooms))])
            peer.told(figure, count, watch)
        watch = peer.Stopwatch()
        with watch:
            seen = scroll(core, rooms[0])
        peer.told("scroll", seen, watch)
        watch = peer.Stopwatch()
        with watch:
            entries = core("get_chatlist_entries", ACCOUNT, None, None, None)
            core("get_chatlist_items_by_entries", ACCOUNT, entries)
        peer.told("list", 1, watch)
        peer.said("memory_kib", peer.memory_kib(core.process.pid))


def live(path, data):
    watch, count = peer.Stopwatch(), 200
    with opened(path) as core:
        chat = core.room(0)
        for i in range(count):
            said = text(data, 0, data.length(0) + i)
            with watch:
                core("misc_send_text_message", ACCOUNT, chat, said)
    peer.told("live_normal", count, watch)


def deletes(path, data):
    watch = peer.Stopwatch()
    with opened(path) as core:
        ids = core("get_message_ids", ACCOUNT, core.room(0), False, False)[::-2][:1000]
        with watch:
            core("delete_messages", ACCOUNT, ids)
    peer.told("deletes", len(ids), watch)


def capped(command):
    """The command on no more messages than are worth the wait."""
    def run(path, data):
        data.messages = min(data.messages, MOST)
        return command(path, data)
    return run


if __name__ == "__main__":
    peer.main({"ingest": capped(ingest), "cold": capped(cold), "read": capped(read),
               "live_normal": capped(live), "deletes": capped(deletes)})

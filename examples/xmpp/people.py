"""What two private XMPP servers of this machine share, and people who write there."""
import asyncio
import os
import pathlib
import secrets
import socket
import sqlite3
from xml.etree import ElementTree as ET

from adapter import Adapter
from process import Process
from slixmpp import ClientXMPP
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

SERVICE = "rooms.localhost"
FAKE_TIME = "/usr/lib/*/faketime/libfaketime.so.1"


class Archive(Process):
    """A server with an archive in SQLite. Which it is says ``start``, with ``rows`` of a room in
    its order, and how to ``drop`` those before one."""

    step_s = 0

    def environment(self):
        if not self.step_s:
            return dict(os.environ)
        found = next(pathlib.Path("/").glob(FAKE_TIME.lstrip("/")))
        return {**os.environ, "LD_PRELOAD": str(found), "FAKETIME": f"{self.step_s:+d}s",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def look(self):
        socket.create_connection(("127.0.0.1", self.port), timeout=5).close()

    def ask(self, query, *values):
        """Asks the archive's own file, past the server."""
        base = sqlite3.connect(self.folder / "archive.sqlite", timeout=30)
        with base:
            rows = base.execute(query, values).fetchall()
        base.close()
        return rows

    def listed(self, room):
        """All messages of a room that are there, in the order of the room: ids and client ids."""
        found, gone = {}, set()
        for key, value in self.rows(room):
            entry = ET.fromstring(value)
            tags = {child.tag: child for child in entry}
            origin = tags.get("{urn:xmpp:sid:0}origin-id")
            if (change := tags.get("{urn:xmpp:message-retract:1}retract")) is not None:
                gone.add((change.get("id"), entry.get("from")))
            elif any(tag.endswith("body") for tag in tags) and (
                    "{urn:xmpp:message-correct:0}replace" not in tags):
                found[key, entry.get("from")] = None if origin is None else origin.get("id")
        return [(key[0], client) for key, client in found.items() if key not in gone]

    def purge(self, room, key):
        """Drops the history before a message, as a retention of the server's would."""
        self.end()
        self.drop(room, key)
        self.start()

    def backdate(self, room, texts, hours):
        """Somebody says something, hours ago: the server's clock is stepped back."""
        self.end()
        self.step_s = -int(hours * 3600)
        self.start()
        late = Person(self, "late")
        late.enter(room)
        made = dict(zip(late.say(room, texts), texts))
        late.close()
        self.end()
        self.step_s = 0
        self.start()
        return made


def finish(loop):
    """Ends a loop with what slixmpp still has running in it."""
    rest(loop)
    loop.close()


def rest(loop):
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))


class Connection(Adapter):
    """An adapter with a loop that nobody else uses."""

    def close(self):
        if not self.loop.is_closed():
            super().close()
            finish(self.loop)


class Person:
    """A user of the server, beside Tideline."""

    def __init__(self, server, name):
        self.server, self.name, self.password = server, name, server.register(name)
        self.id, self.jid = name, f"{name}@localhost"
        self.loop, self.echoes, self.xmpp = asyncio.new_event_loop(), {}, None

    def stream(self, loop):
        """A stream for the loopback, which needs no cipher."""
        made = ClientXMPP(self.jid, self.password, loop=loop, plugin_config={
            "feature_mechanisms": {"unencrypted_scram": True}})
        made.enable_direct_tls = made.enable_starttls = False
        made.enable_plaintext = True
        return made

    def adapter(self):
        return Connection(
            self.stream(asyncio.new_event_loop()), "127.0.0.1", self.server.port, SERVICE)

    def found(self, title, guests):
        """A room for guests, who may come when they like. Gives its id."""
        room = f"{title.lower()}@{SERVICE}"
        self.enter(room)
        return room

    def enter(self, room):
        """Connects, anew where the server was away, and enters a room; it is made by the first."""
        self.leave()
        self.xmpp = self.stream(self.loop)
        self.xmpp.register_plugin("xep_0045")
        self.xmpp.register_handler(Callback("any", StanzaPath("message"), self._heard))
        self.xmpp.connect("127.0.0.1", self.server.port)
        self._wait(self.xmpp.wait_until("session_start", 20))
        self._wait(self.xmpp["xep_0045"].join_muc_wait(room, self.name, maxstanzas=0, timeout=20))

    def leave(self):
        if self.xmpp is not None:
            self._wait(self.xmpp.disconnect(wait=1.0))
            rest(self.loop)

    def close(self):
        self.leave()
        finish(self.loop)

    def _wait(self, work):
        return self.loop.run_until_complete(work)

    def _heard(self, stanza):
        found = stanza.xml.find("{urn:xmpp:sid:0}stanza-id")
        if found is not None and stanza["id"] in self.echoes:
            self.echoes[stanza["id"]].set_result(found.get("id"))

    def put(self, room, entries):
        """Puts entries: pairs of a text or None, and an element or None. Gives their ids in the
        archive, once all are there."""
        waiting = []
        for body, change in entries:
            message = self.xmpp.make_message(mto=room, mtype="groupchat", mbody=body)
            message["id"] = own = secrets.token_hex(8)
            message.xml.append(ET.Element("{urn:xmpp:hints}store"))
            if change is not None:
                message.xml.append(change)
            self.echoes[own] = self.loop.create_future()
            waiting.append(self.echoes[own])
            message.send()
        made = self._wait(asyncio.wait_for(asyncio.gather(*waiting), 120))
        self.own = {**getattr(self, "own", {}), **dict(zip(made, self.echoes))}
        self.echoes.clear()
        return made

    def say(self, room, texts):
        return self.put(room, [(each, None) for each in texts])

    def edit(self, room, pairs):
        self.put(room, [(text, ET.Element("{urn:xmpp:message-correct:0}replace", id=self.own[key]))
                        for key, text in pairs])

    def redact(self, room, keys):
        self.put(room, [(None, ET.Element("{urn:xmpp:message-retract:1}retract", id=key))
                        for key in keys])

    def react(self, room, pairs):
        entries = []
        for key, reaction in pairs:
            change = ET.Element("{urn:xmpp:reactions:0}reactions", id=key)
            ET.SubElement(change, "{urn:xmpp:reactions:0}reaction").text = reaction
            entries.append((None, change))
        self.put(room, entries)

    def read(self, room, key):
        self.put(room, [(None, ET.Element("{urn:xmpp:chat-markers:0}displayed", id=key))])

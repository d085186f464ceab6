"""An adapter: frames of Tideline on one side, rooms of an XMPP server with an archive on the other.

The archive (XEP-0313) is a log: order of arrival, ids as cursors, edits, retractions and reactions
as later entries. Until the library has places for that, each room that is asked for is mirrored
here in memory. What comes live only rings the bell: the archive alone is believed. A connection is
one object, used by one thread; it is given a slixmpp.ClientXMPP with an event loop of its own.
"""
import asyncio
import uuid
from xml.etree import ElementTree as ET

from mirror import Carrier, Mirror, Unsupported, micros, text
from slixmpp.exceptions import XMPPError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

CODES = {"item-not-found": "not_found", "remote-server-not-found": "not_found",
         "service-unavailable": "not_found", "forbidden": "forbidden", "bad-request": "invalid",
         "registration-required": "forbidden", "not-acceptable": "invalid"}
CLIENT, MAM = "{jabber:client}", "{urn:xmpp:mam:2}"
RSM, REACTIONS = "{http://jabber.org/protocol/rsm}", "{urn:xmpp:reactions:0}"
REPLACE, RETRACT = "{urn:xmpp:message-correct:0}replace", "{urn:xmpp:message-retract:1}retract"
REACT, SEEN = f"{REACTIONS}reactions", "{urn:xmpp:chat-markers:0}displayed"
ORIGIN, STORE = "{urn:xmpp:sid:0}origin-id", "{urn:xmpp:hints}store"


class Room(Mirror):
    """A mirror of an archive. ``last`` is its last entry, ``own`` finds entries by their sender
    and the id that he gave them."""

    def __init__(self):
        super().__init__()
        self.last, self.own = None, {}

    def take(self, key, at, entry):
        """Takes an entry; gives the push that tells of it, or None."""
        self.begin(at)
        self.last, who = key, entry.get("from").partition("/")[2]
        self.own[who, entry.get("id")] = key
        body, origin = entry.findtext(f"{CLIENT}body"), entry.find(ORIGIN)
        for tag in REPLACE, RETRACT, REACT, SEEN:
            if (change := entry.find(tag)) is not None:
                name = change.get("id")
                row = self.by_id.get(self.own.get((who, name)) if tag == REPLACE else name)
                if row is None or tag in (REPLACE, RETRACT) and row["sender_id"] != who:
                    return None
                if tag == REACT:
                    return self.react(row, who, [each.text for each in change])
                if tag == SEEN:
                    return self.seen(row, who)
                return self.delete(name) if tag == RETRACT else self.edit(row, body)
        if not body or not who:
            return None
        return self.message(key, who, body, None if origin is None else origin.get("id"))


class Adapter(Carrier):
    def __init__(self, xmpp, host, port, service):
        super().__init__()
        self.xmpp, self.loop, self.bell = xmpp, xmpp.loop, asyncio.Event()
        self.user, self.service = xmpp.boundjid.user, service
        self.joined, self.rung, self.found, self.failed = set(), set(), [], {}
        for plugin in "xep_0030", "xep_0045":
            xmpp.register_plugin(plugin)
        xmpp.register_handler(Callback("any", StanzaPath("message"), self.heard))
        xmpp.connect(host, port)
        self.wait(xmpp.wait_until("session_start", 20))

    def close(self):
        self.loop.run_until_complete(self.xmpp.disconnect(wait=1.0))

    def wait(self, work):
        return self.loop.run_until_complete(self.alive(self.loop.create_task(work)))

    async def alive(self, work):
        if self.xmpp.is_connected() or self.xmpp.is_connecting():
            await asyncio.wait({work, self.xmpp.disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            raise ConnectionError("the stream has ended")
        return work.result()

    # What comes: results of queries, errors, and what rings the bell

    def heard(self, stanza):
        xml, result = stanza.xml, stanza.xml.find(f"{MAM}result")
        if result is not None:
            inner = result.find("{urn:xmpp:forward:0}forwarded")
            at = micros(inner.find("{urn:xmpp:delay}delay").get("stamp"))
            self.found.append((result.get("id"), at, inner.find(f"{CLIENT}message")))
            return
        if xml.get("type") == "error":
            self.failed[xml.get("id")] = stanza["error"]["condition"]
        self.rung.add(stanza["from"].bare)
        self.bell.set()

    async def until(self, is_so, seconds):
        end = self.loop.time() + seconds
        while not is_so():
            self.bell.clear()
            await asyncio.wait_for(self.bell.wait(), max(0.01, end - self.loop.time()))

    def listen(self, timeout_s):
        self.wait(self.news(timeout_s))

    async def news(self, seconds):
        try:
            await self.until(lambda: self.rung & self.rooms.keys(), seconds)
        except asyncio.TimeoutError:
            return
        for name in self.rung & self.rooms.keys():
            await self.room(name)

    # The mirror

    async def room(self, name):
        """The mirror of a room, with all that its archive has now."""
        if name not in self.joined:  # To enter a room that is not there would make it.
            await self.xmpp["xep_0030"].get_info(jid=name, timeout=20)
            await self.xmpp["xep_0045"].join_muc_wait(name, self.user, maxstanzas=0, timeout=20)
            self.joined.add(name)
        self.rung.discard(name)
        room, is_whole = self.rooms.get(name) or Room(), False
        while not is_whole:
            ask, self.found = self.xmpp.make_iq_set(ito=name), []
            page = ET.SubElement(ET.SubElement(ask.xml, f"{MAM}query"), f"{RSM}set")
            ET.SubElement(page, f"{RSM}max").text = "1000"
            if room.last is not None:
                ET.SubElement(page, f"{RSM}after").text = room.last
            try:
                end = await ask.send(timeout=60)
            except XMPPError as error:
                if error.condition != "item-not-found" or room.last is None:
                    raise
                self.rooms.pop(name, None)  # What was known last is purged: the mirror begins anew.
                room = Room()
                continue
            is_whole = end.xml.find(f"{MAM}fin").get("complete") == "true"
            for found in self.found:
                # What is there when the mirror is made is no news.
                if (push := room.take(*found)) and name in self.rooms:
                    self.put({**push, "conversation_id": name})
        self.rooms[name] = room
        return room

    async def say(self, name, own, change, body=None):
        """Puts an entry, and waits for it in the archive. Gives its row, where it has one."""
        old = self.rooms[name].own.get((self.user, own))
        message = self.xmpp.make_message(mto=name, mtype="groupchat", mbody=body)
        message["id"] = own
        message.xml.extend([ET.Element(STORE), ET.Element(ORIGIN, id=own)])
        if change is not None:
            message.xml.append(change)
        message.send()
        while (room := await self.room(name)).own.get((self.user, own)) == old:
            await self.until(lambda: name in self.rung or own in self.failed, 20)
            if own in self.failed:
                raise XMPPError(self.failed.pop(own))
        return room.by_id.get(room.own[self.user, own])

    def do(self, verb, want, name):
        return self.wait(self.act(verb, want, name))

    def error(self, error):
        return {"code": CODES.get(getattr(error, "condition", None), "unavailable")}

    async def act(self, verb, want, name):
        if verb == "get_conversations":
            found = await self.xmpp["xep_0030"].get_items(jid=self.service, timeout=20)
            return self.listed(want, {str(jid): title or str(jid).partition("@")[0]
                                      for jid, _, title in found["disco_items"]["items"]})
        if not name:
            raise Unsupported(verb)
        room, own, target = await self.room(name), uuid.uuid4().hex, want.get("message_id")
        if (data := room.answer(verb, want)) is not None:
            return data
        if verb == "send_message":
            return {"message": await self.say(name, want["client_id"], None, text(want["payload"]))}
        if verb == "mark_read":
            for last in room.last_of(want["message_ids"]):
                await self.say(name, own, ET.Element(SEEN, id=last))
        elif verb in ("edit_message", "delete_message", "react_message", "unreact_message"):
            if target not in room.by_id:
                raise XMPPError("item-not-found")
            if verb == "edit_message":
                first = next(each for (_, each), key in room.own.items() if key == target)
                await self.say(name, own, ET.Element(REPLACE, id=first), text(want["payload"]))
            elif verb == "delete_message":
                await self.say(name, own, ET.Element(RETRACT, id=target))
            else:
                change, mine = ET.Element(REACT, id=target), want["reaction"]
                there = room.by_id[target]["reactions"].items()
                keys = {key for key, users in there if self.user in users and key != mine}
                for key in sorted(keys | ({mine} if verb == "react_message" else set())):
                    ET.SubElement(change, f"{REACTIONS}reaction").text = key
                await self.say(name, own, change)
        elif verb != "subscribe":
            raise Unsupported(verb)
        return {}

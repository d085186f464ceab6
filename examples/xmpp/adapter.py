"""An adapter: frames of Tideline on one side, rooms of an XMPP server with an archive on the other.

The archive (XEP-0313) is a log: order of arrival, edits, retractions and reactions as later
entries, and ids as tokens: `<id` stands before that entry, `>id` behind it, `>` at the start. What
comes live has no time, so it only rings the bell: the archive alone is believed. A connection is
one object, used by one thread; it is given a slixmpp.ClientXMPP with an event loop of its own.
"""
import asyncio
from contextlib import suppress
from xml.etree import ElementTree as ET

from archive import MAM, ORIGIN, REACT, REACTIONS, REPLACE, RETRACT, RSM, SEEN, STORE, Room, result
from carrier import Carrier, Unsupported, text
from slixmpp.exceptions import XMPPError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

CODES = {"item-not-found": "not_found", "remote-server-not-found": "not_found",
         "service-unavailable": "not_found", "forbidden": "forbidden", "bad-request": "invalid",
         "registration-required": "forbidden", "not-acceptable": "invalid"}


class Adapter(Carrier):
    def __init__(self, xmpp, host, port, service):
        super().__init__()
        self.xmpp, self.loop, self.bell = xmpp, xmpp.loop, asyncio.Event()
        self.user, self.service, self.by_token = xmpp.boundjid.user, service, False
        self.rooms, self.rung, self.found, self.failed = {}, set(), [], {}
        for plugin in "xep_0030", "xep_0045":
            xmpp.register_plugin(plugin)
        xmpp.register_handler(Callback("any", StanzaPath("message"), self.heard))
        xmpp.connect(host, port)
        self.wait(xmpp.wait_until("session_start", 20))

    def close(self):
        self.loop.run_until_complete(self.xmpp.disconnect(wait=1.0))

    def wait(self, work):
        work = self.loop.create_task(work)
        if self.xmpp.is_connected() or self.xmpp.is_connecting():
            self.loop.run_until_complete(asyncio.wait(
                {work, self.xmpp.disconnected}, return_when=asyncio.FIRST_COMPLETED))
        if not work.done():
            work.cancel()
            raise ConnectionError("the stream has ended")
        return work.result()

    def heard(self, stanza):
        """A result of a query, or what rings the bell."""
        if (found := result(stanza.xml)) is not None:
            self.found.append(found)
            return
        if stanza["type"] == "error":
            self.failed[stanza["id"]] = stanza["error"]["condition"]
        self.rung.add(stanza["from"].bare)
        self.bell.set()

    async def ring(self, seconds):
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.bell.wait(), seconds)
        self.bell.clear()

    def listen(self, timeout_s):
        self.wait(self.ring(timeout_s))
        for name in self.rung & self.rooms.keys():
            self.wait(self.news(name))

    async def page(self, name, most, tag, key):
        """The entries before or after one, or an end; and whether there are no more."""
        ask, self.found = self.xmpp.make_iq_set(ito=name), []
        page = ET.SubElement(ET.SubElement(ask.xml, f"{MAM}query"), f"{RSM}set")
        ET.SubElement(page, f"{RSM}max").text = str(most)
        if key or tag == "before":
            ET.SubElement(page, RSM + tag).text = key
        end = await ask.send(timeout=60)
        return self.found, end.xml.find(f"{MAM}fin").get("complete") == "true"

    async def reach(self, name, is_so):
        """Reads a room down, until that is so or it starts."""
        room = self.rooms[name]
        while not is_so() and not room.is_whole:
            try:
                found, room.is_whole = await self.page(name, 250, "before", room.first)
            except XMPPError as error:
                if not room.first or error.condition != "item-not-found":
                    raise
                found, room.is_whole = [], True  # It was purged, with all that is below.
            room.note(found, self.user)
            if found:
                room.first, room.last = found[0][0], room.last or found[-1][0]

    async def told(self, name, found):
        room = self.rooms[name]
        room.note(found)
        for each in found:
            await self.reach(name, lambda: room.knows(each[2]))
        return [room.entry(*each) for each in found]

    async def news(self, name):
        """Pushes what came since, and gives it."""
        room, made, is_whole = self.rooms[name], [], False
        self.rung.discard(name)
        while not is_whole:
            try:
                found, is_whole = await self.page(name, 500, "after", room.last)
            except XMPPError as error:
                raise ConnectionError("what came since is not told") from error
            room.note(found, self.user, is_above=True)
            if entries := await self.told(name, found):
                self.put({"type": "entries_new", "conversation_id": name, "entries": entries,
                          **({"prev": room.last} if room.last else {})})
                made, room.last = made + entries, found[-1][0]
        return made

    async def entries(self, name, want):
        """A page by one query, or by two where it is around an entry or ends with one."""
        most, before, after = want["limit"], want.get("before", "<"), want.get("after")
        key, starts, ends = want.get("around_id"), after == ">", "before" not in want
        if after is not None:
            found, ends = await self.page(name, most, "after", after.removeprefix(">"))
        elif key is None and before[0] != ">":
            found, starts = await self.page(name, most, "before", before.removeprefix("<"))
        else:
            below = max(1, most - 1 if key is None else most // 2)
            key = key or before[1:]
            under, starts = await self.page(name, below, "before", key)
            last = under[-1][0] if under else None
            over, ends = await self.page(name, max(1, most - below), "after", last)
            if not over or over[0][0] != key:  # ejabberd takes an id that it has not for a time.
                raise XMPPError("item-not-found")
            found, starts = (under + over)[-most:], starts and len(under + over) <= most
        made = {"entries": await self.told(name, found), "present": ends,
                "after": f">{found[-1][0]}" if found else after or ">"}
        return made if starts else {**made, "before": f"<{found[0][0]}" if found else after}

    async def say(self, name, change, body=None, origin=None):
        """Puts an entry under an id of its own, and gives it as the archive has it."""
        message = self.xmpp.make_message(mto=name, mtype="groupchat", mbody=body)
        message["id"] = own = self.xmpp.new_id()
        message.xml.extend([ET.Element(STORE), ET.Element(ORIGIN, id=origin or own), *change])
        message.send()
        for _ in range(20):
            for each in await self.news(name):
                key = each.get("message_id") or each["entry_id"]
                if self.rooms[name].who[key] == (self.user, own):
                    return each
            await self.ring(1)
            if own in self.failed:
                raise XMPPError(self.failed.pop(own))
        raise ConnectionError("no echo has come")

    async def title(self, jid, listed):
        """A room's own name: ejabberd lists it with how many are in the room, as `Harbour (2)`."""
        if listed and not listed.endswith(")"):
            return listed
        info = await self.xmpp["xep_0030"].get_info(jid=jid, timeout=20)
        names = [name for *_, name in info["disco_info"]["identities"] if name]
        return names[0] if names else str(jid).partition("@")[0]

    def do(self, verb, want, name):
        return self.wait(self.act(verb, want, name))

    def error(self, error):
        code = CODES.get(getattr(error, "condition", None), "unavailable")
        return {"code": "unknown_cursor" if code == "not_found" and self.by_token else code}

    async def act(self, verb, want, name):
        self.by_token = False
        if verb == "get_conversations":
            found = await self.xmpp["xep_0030"].get_items(jid=self.service, timeout=20)
            return self.listed(want, {
                str(jid): {"title": await self.title(jid, title),
                           "last_read_message_id": self.rooms.get(str(jid), Room()).read}
                for jid, _, title in found["disco_items"]["items"]})
        if not name:
            raise Unsupported(verb)
        room = self.rooms.setdefault(name, Room())
        if not room.first and not room.is_whole:  # To enter a room that is not there would make it.
            await self.xmpp["xep_0030"].get_info(jid=name, timeout=20)
            await self.xmpp["xep_0045"].join_muc_wait(name, self.user, maxstanzas=0, timeout=20)
            await self.reach(name, lambda: room.last)
        if verb in ("get_entries", "subscribe"):
            self.by_token = not {"before", "after"}.isdisjoint(want)
            return await self.entries(name, want) if verb == "get_entries" else {}
        if verb == "send_message":
            return {"message": await self.say(name, [], text(want["payload"]), want["client_id"])}
        if verb not in ("mark_read", "edit_message", "delete_message", "react_message",
                        "unreact_message"):
            raise Unsupported(verb)
        keys, body = set(want.get("message_ids") or [want["message_id"]]), None
        await self.reach(name, lambda: keys <= room.order.keys())
        if not (known := keys & room.order.keys()):
            raise XMPPError("item-not-found")
        target = max(known, key=room.order.get)
        if verb in ("edit_message", "delete_message") and room.who[target][0] != self.user:
            raise XMPPError("forbidden")
        if verb == "mark_read":
            change = ET.Element(SEEN, id=target)
        elif verb == "edit_message":
            change, body = ET.Element(REPLACE, id=room.who[target][1]), text(want["payload"])
        elif verb == "delete_message":
            change = ET.Element(RETRACT, id=target)
        else:
            change, mine = ET.Element(REACT, id=target), {want["reaction"]}
            there = room.mine.get(target, set())
            for key in sorted(there | mine if verb == "react_message" else there - mine):
                ET.SubElement(change, f"{REACTIONS}reaction").text = key
        return {"entry_id": (await self.say(name, [change], body))["entry_id"]}

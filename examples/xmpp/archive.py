"""Entries of an archive (XEP-0313) as those of a log, and what has to be known for it."""
CLIENT, MAM = "{jabber:client}", "{urn:xmpp:mam:2}"
RSM, REACTIONS = "{http://jabber.org/protocol/rsm}", "{urn:xmpp:reactions:0}"
REPLACE, RETRACT = "{urn:xmpp:message-correct:0}replace", "{urn:xmpp:message-retract:1}retract"
REACT, SEEN = f"{REACTIONS}reactions", "{urn:xmpp:chat-markers:0}displayed"
ORIGIN, STORE = "{urn:xmpp:sid:0}origin-id", "{urn:xmpp:hints}store"
CHANGES = {REPLACE: "edit", RETRACT: "delete", REACT: "reactions", SEEN: "read"}


def result(xml):
    """Of a message that is a result of a query: the id, the stamp and the entry."""
    if (found := xml.find(f"{MAM}result")) is None:
        return None
    inner = found.find("{urn:xmpp:forward:0}forwarded")
    at = inner.find("{urn:xmpp:delay}delay").get("stamp")
    return found.get("id"), at, inner.find(f"{CLIENT}message")


def parts(xml):
    """Of an entry: who made it, the id that he gave it, what it does, and to what."""
    tag = next((tag for tag in CHANGES if xml.find(tag) is not None), None)
    return xml.get("from").partition("/")[2], xml.get("id"), tag, tag and xml.find(tag).get("id")


def reactions(xml):
    return [each.text for each in xml.find(REACT) if each.text]


class Room:
    """Ids of what was read. A correction names a message by its sender's own id, and a reaction
    goes with all others of its sender: so the archive is read down from its end, ``last``, as far
    as that needs, to ``first``. ``order`` numbers what was."""

    def __init__(self):
        self.own, self.who, self.order, self.mine = {}, {}, {}, {}
        self.first, self.last, self.read, self.is_whole = "", None, None, False

    def note(self, found, user=None, is_above=False):
        """With a user it goes on from what was read, above or below."""
        for key, _, xml in found if is_above else reversed(found):
            who, own, tag, target = parts(xml)
            self.who[key] = who, own
            self.own[who, own] = key if is_above else self.own.get((who, own), key)
            if user is not None:
                self.order[key] = len(self.order) if is_above else -len(self.order)
            if who == user and tag == SEEN:
                self.read = target if is_above else self.read or target
            if who == user and tag == REACT and (is_above or target not in self.mine):
                self.mine[target] = set(reactions(xml))

    def knows(self, xml):
        """Whether an entry can be told: what it changes, and whose that is."""
        who, _, tag, target = parts(xml)
        return {REPLACE: (who, target) in self.own, RETRACT: target in self.who}.get(tag, True)

    def entry(self, key, at, xml):
        who, _, tag, target = parts(xml)
        made, body = {"sender_id": who, "created_at": at}, xml.findtext(f"{CLIENT}body")
        if tag is None and body and who:
            origin = xml.find(ORIGIN)
            return {"message_id": key, "payload": body, **made,
                    "client_id": None if origin is None else origin.get("id")}
        target = self.own.get((who, target)) if tag == REPLACE else target
        if not who or not target or tag == RETRACT and self.who.get(target, [who])[0] != who:
            return {"entry_id": key, "change": "none"}
        more = {"payload": body} if tag == REPLACE else {
            "reactions": reactions(xml)} if tag == REACT else {}
        return {"entry_id": key, "change": CHANGES[tag], "target_id": target, **made, **more}

"""What the adapter to XMPP makes of an archive's entries, and what it has to have read for it."""

import json
import pathlib
import sys
import unittest
from xml.etree import ElementTree as ET

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
sys.path[:0] = [str(EXAMPLES / "adapted"), str(EXAMPLES / "xmpp")]

import archive  # noqa: E402
from carrier import Carrier, Unsupported  # noqa: E402

AT = "2026-02-15T22:15:46Z"


def entry(key, who, own, body=None, tag=None, target=None, reactions=()):
    """An entry as a page of the archive gives it. Each has an id of its sender's."""
    xml = ET.Element("{jabber:client}message", {"from": f"room@rooms/{who}", "id": own})
    if body is not None:
        ET.SubElement(xml, f"{archive.CLIENT}body").text = body
    if tag is not None:
        change = ET.SubElement(xml, tag, {"id": target})
        for each in reactions:
            ET.SubElement(change, f"{archive.REACTIONS}reaction").text = each
    return key, AT, xml


class ArchiveTest(unittest.TestCase):
    def told(self, room, *found):
        return [(made["change"], made.get("target_id")) for made in
                (room.entry(*each) for each in found)]

    def test_a_message_and_what_is_none(self):
        room = archive.Room()
        key, at, xml = entry("a1", "jan", "own-1", "text")
        ET.SubElement(xml, archive.ORIGIN, {"id": "client-1"})
        self.assertEqual(room.entry(key, at, xml), {
            "message_id": "a1", "sender_id": "jan", "created_at": AT, "payload": "text",
            "client_id": "client-1"})
        # A subject has no body, and what the room itself says no sender.
        for each in entry("a2", "jan", "own-2"), entry("a3", "", "own-3", "text"):
            self.assertEqual(room.entry(*each), {"entry_id": each[0], "change": "none"})

    def test_a_correction_names_its_message_by_its_senders_own_id(self):
        room = archive.Room()
        edit = entry("a9", "jan", "own-9", "new", archive.REPLACE, "own-1")
        self.assertFalse(room.knows(edit[2]))
        # Another user has given his the same id.
        room.note([entry("a2", "eva", "own-1", "hers")])
        self.assertFalse(room.knows(edit[2]))
        self.assertEqual(self.told(room, edit), [("none", None)])
        room.note([entry("a1", "jan", "own-1", "old")])
        self.assertTrue(room.knows(edit[2]))
        self.assertEqual(self.told(room, edit), [("edit", "a1")])
        self.assertEqual(room.entry(*edit)["payload"], "new")

    def test_a_retraction_is_its_senders_alone(self):
        room = archive.Room()
        own = entry("a8", "jan", "own-8", None, archive.RETRACT, "a1")
        others = entry("a9", "eva", "own-9", None, archive.RETRACT, "a1")
        self.assertFalse(room.knows(others[2]))
        # Of a message that is in the archive no more.
        self.assertEqual(self.told(room, own), [("delete", "a1")])
        room.note([entry("a1", "jan", "own-1", "text")])
        self.assertTrue(room.knows(others[2]))
        self.assertEqual(self.told(room, own, others), [("delete", "a1"), ("none", None)])

    def test_the_last_of_ones_own_is_what_counts_whichever_way_it_is_read(self):
        def react(key, *reactions, who="eva"):
            return entry(key, who, key, None, archive.REACT, "a1", reactions)

        def seen(key, target):
            return entry(key, "eva", key, None, archive.SEEN, target)

        log = [entry("a1", "jan", "own-1", "text"), react("a2", "+"), seen("a3", "a1"),
               react("a4", "+", "!"), react("a5", "?", who="jan"), seen("a6", "a2"),
               react("a7", "!"), seen("a8", "a4")]
        for at in range(len(log) + 1):
            room = archive.Room()
            room.note(log[at - at // 2:at], "eva")
            room.note(log[at:], "eva", is_above=True)
            room.note(log[:at - at // 2], "eva")
            self.assertEqual(room.mine, {"a1": {"!"}}, at)
            self.assertEqual(room.read, "a4", at)
            self.assertEqual(sorted(room.order, key=room.order.get), [each[0] for each in log], at)
        self.assertEqual(room.entry(*log[3])["reactions"], ["+", "!"])

    def test_a_page_elsewhere_says_nothing_of_what_is_last(self):
        room = archive.Room()
        room.note([entry("a2", "eva", "own-2", None, archive.REACT, "a1", "+")])
        self.assertEqual((room.mine, room.order, room.read), ({}, {}, None))


class CarrierTest(unittest.TestCase):
    def test_what_nobody_knows_to_be_done_is_not_answered(self):
        class Broken(Carrier):
            def do(self, verb, want, name):
                raise {"a": Unsupported, "b": ValueError, "c": ConnectionResetError}[verb](verb)

            def error(self, error):
                return {"code": str(error)}

        adapter = Broken()
        for verb, code in (("a", "unsupported"), ("b", "b")):
            adapter.send(json.dumps({"type": verb, "request_id": "1"}).encode())
            self.assertEqual(json.loads(adapter.receive(0))["error"], {"code": code})
        # It may have arrived: an answer would have it sent again.
        with self.assertRaises(ConnectionResetError):
            adapter.send(b'{"type": "c", "request_id": "2"}')
        self.assertEqual(adapter.queue, [])


if __name__ == "__main__":
    unittest.main()

"""Explanations from Python: what changed a message, why it is not shown, and when a trace goes."""

import json
import os
import tempfile
import unittest

import tideline

from support import KEY, Server, message, take


class Explain(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "eva.tideline")
        self.server = Server()
        self.server.messages = [message(number) for number in range(1, 6)]

    def opened(self, **more):
        return tideline.Client(self.path, KEY, user_id="me", log=lambda *_: None, **more)

    def caught_up(self, client):
        client.connected()
        client.sync("c")
        return take(client, self.server)

    def test_a_message_is_explained(self):
        with self.opened(trace=True) as client:
            asked = self.caught_up(client)
            found = client.explain("c", "m2")
            self.assertEqual((found["shown"], found["reason"], found["next"]),
                             (True, "shown", "none"))
            entry = found["trace"][0]
            self.assertEqual((entry["effect"], entry["cause"], entry["verb"]),
                             ("inserted", "answer", "get_messages"))
            self.assertIn(entry["request"], [one["request_id"] for one in asked])
            client.receive(json.dumps({"type": "message_deleted", "conversation_id": "c",
                                       "message_ids": ["m2"]}))
            found = client.explain("c", "m2")
            self.assertEqual((found["shown"], found["reason"]), (False, "deleted"))
            self.assertEqual([one["effect"] for one in found["trace"]], ["deleted", "inserted"])
            self.assertEqual(len(client.explain("c", "m2", 1)["trace"]), 1)
            sent = client.send("c", '"mine"', client_id="own")
            self.assertEqual(client.explain("c", "own")["reason"], "pending")
            take(client, self.server)
            found = client.explain("c", "own")
            self.assertEqual((found["reason"], found["trace"][0]["effect"]), ("shown", "confirmed"))
            self.assertEqual(found["trace"][0]["operation"], sent.operation)

    def test_it_is_off_by_default(self):
        with self.opened() as client:
            self.caught_up(client)
            found = client.explain("c", "m2")
            self.assertEqual((found["reason"], found["traced"], found["trace"]),
                             ("shown", False, []))

    def test_an_opening_without_it_drops_it(self):
        # header: "An opening without it drops that, with its first commit."
        with self.opened(trace=True, trace_max=3) as client:
            self.caught_up(client)
            # header: "Changes that #TL_OPEN_TRACE keeps"
            kept = [number for number in range(1, 6) if client.explain("c", f"m{number}")["trace"]]
            self.assertEqual(len(kept), 3)
        with self.opened() as client:
            self.assertTrue(client.explain("c", f"m{kept[0]}")["trace"])
            client.draft("c", "a commit")
            self.assertFalse(client.explain("c", f"m{kept[0]}")["traced"])

    def test_an_erased_conversation_leaves_none(self):
        with self.opened(trace=True) as client:
            self.caught_up(client)
            work = client.rekey("c")
            while not work.step().is_done:
                pass
            self.assertEqual(client.explain("c", "m2")["trace"], [])

    def test_wrong_values(self):
        with self.opened() as client:
            for words in (("", "m1"), ("c", ""), ("c", "m1", 10_001)):
                with self.assertRaises(tideline.InvalidError):
                    client.explain(*words)
        with self.assertRaises(tideline.InvalidError):
            self.opened(trace=True, trace_max=1_000_001)

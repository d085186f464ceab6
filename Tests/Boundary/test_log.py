"""A log through the header: a client on a file, and the reference server with --log."""

import json
import pathlib
import tempfile
import unittest

import tideline
from tideline import Capabilities, MessageState, Profile, SyncKind

from log_server import LOG, Carried, LogServer
from support import KEY


class Log(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "eva.tideline")

    def server(self, *options):
        server = LogServer(*options)
        self.addCleanup(server.close)
        return server

    def host(self, server, path=None):
        host = Carried(server, path)
        self.addCleanup(host.close)
        host.connect()
        return host

    def equal(self, host):
        """All is there, as it is, in the order of the log, and whole as of its last entry."""
        page, entries = host.page(), host.server.entries()
        self.assertEqual(host.shown(), host.server.truth())
        self.assertTrue(page.coverage.whole, page.coverage)
        self.assertEqual(page.coverage.stop, tideline.Stop.START)
        last = entries[-1]
        self.assertEqual(page.coverage.as_of_entry, last.get("entry_id") or last["message_id"])

    def change(self, server, ids):
        server.admin("edit", message_id=ids[3], payload="edited")
        server.admin("react", message_id=ids[4], user="jan", reaction="+")
        server.admin("react", message_id=ids[4], user="jan", reaction="!")
        server.admin("unreact", message_id=ids[4], user="jan", reaction="+")
        server.admin("delete", message_ids=[ids[5]])

    def test_what_was_written_while_away_and_what_is_pushed(self):
        server = self.server()
        ids = server.post(90)
        self.change(server, ids)
        host = self.host(server, self.path)
        self.assertEqual(host.sync().requests, 1)
        self.assertEqual(host.page().coverage.stop, tideline.Stop.GAP)
        host.scroll()
        self.equal(host)
        self.assertEqual(set(host.asked), {"get_entries"})
        # Pushes name the entry before them: they are whole without a request, whatever their
        # stamps say.
        host.asked.clear()
        late = server.post(3, back_s=7_200)
        new = server.post(12)
        self.change(server, new)
        host.settle()
        self.equal(host)
        self.assertEqual(host.asked, [])
        rows = {row.id: row for row in host.page().messages}
        self.assertLess(rows[late[0]].time_us, rows[ids[-1]].time_us - 3_600_000_000)
        back = host.sync().step_back_us
        self.assertTrue(7_100_000_000 < back < 7_300_000_000, back)
        # A restart: what came meanwhile costs what it is, and nothing new one request.
        host.close()
        server.post(30)
        self.change(server, ids[20:])
        host = self.host(server, self.path)
        self.assertLessEqual(host.sync().requests, 3)
        self.equal(host)
        host.close()
        host = self.host(server, self.path)
        # What came since, and whether the log still starts where it did.
        self.assertEqual(host.sync().requests, 2)
        self.equal(host)
        self.assertEqual(host.sync().requests, 1)

    def test_a_window_scrolls_both_ways(self):
        server = self.server()
        ids = server.post(200)
        server.admin("edit", message_id=ids[100], payload="edited")
        host = self.host(server)
        host.sync()
        # In the middle, by its id: `around_id`.
        window = host.client.window(server.room, at=tideline.At.MESSAGE, id=ids[100])
        rows = tideline.Rows(window)
        for _ in range(60):
            host.settle()
            rows.poll()
            shown = [row.id for row in rows.messages]
            self.assertEqual(shown, [key for key in ids if key in shown])
            if shown == ids:
                break
            splits = [number for number, row in enumerate(rows.messages)
                      if number and tideline.MessageFlags.GAP_BEFORE in row.flags]
            if splits:
                window.after(40, rows.messages[splits[0] - 1].number)
            else:
                window.before(40)
        self.assertEqual([row.id for row in rows.messages], ids)
        self.assertEqual(window.state().split_count, 0)
        self.assertEqual(rows.messages[100].json, "edited")
        window.close()

    def test_what_the_user_does_takes_effect_once(self):
        server = self.server()
        server.post(30)
        host = self.host(server, self.path)
        host.sync()
        host.scroll()
        client, room = host.client, server.room
        client.send(room, "mine", client_id="key-1")
        self.assertEqual(host.page().messages[-1].state, MessageState.QUEUED)
        host.settle()
        self.equal(host)
        mine = host.page().messages[-1]
        self.assertEqual((mine.client_id, mine.state), ("key-1", MessageState.CONFIRMED))
        for verb, more in (("edit_message", {"payload": "mine, edited"}),
                           ("react_message", {"reaction": "+"}),
                           ("react_message", {"reaction": "!"}),
                           ("unreact_message", {"reaction": "+"})):
            client.perform({"type": verb, "conversation_id": room, "message_id": mine.id, **more})
        host.settle()
        self.equal(host)
        self.assertEqual(json.loads(host.page().messages[-1].reactions_json), {"!": ["eva"]})
        # The answer to a send is lost with its connection, and the process ends.
        client.send(room, "unanswered", client_id="key-2")
        host.carry()
        host.link.send(b'{"type":"admin_conversations","request_id":"mark"}')
        while b'"mark"' not in host.link.receive(30):
            pass
        host.close()
        server.post(3)
        host = self.host(server, self.path)
        host.sync()
        self.equal(host)
        self.assertEqual([entry.get("client_id") for entry in server.entries()].count("key-2"), 1)
        self.assertEqual(host.client.state().operations_open, 0)
        self.assertEqual(host.client.state().operations_stuck, 0)
        host.client.perform({"type": "delete_message", "conversation_id": room,
                             "message_id": mine.id})
        host.settle()
        self.equal(host)

    def test_tokens_expire_and_a_backup_comes_back(self):
        server = self.server("--log-gap", "30")
        ids = server.post(70)
        host = self.host(server, self.path)
        host.sync()
        host.scroll()
        server.admin("backup")
        host.close()
        server.admin("clock", back_s=7_200)
        server.post(80)
        self.change(server, ids)
        server.admin("expire")
        host = self.host(server, self.path)
        self.assertEqual(host.sync().result, tideline.Status.OK)
        self.equal(host)
        host.close()
        server.admin("restore")
        server.post(4)
        host = self.host(server, self.path)
        host.sync()
        host.scroll()
        self.equal(host)
        # The beginning is purged: what is shown of it stays, and claims nothing false.
        server.admin("purge", count=30)
        server.post(1)
        host.settle()
        host.sync()
        shown, truth = host.shown(), server.truth()
        self.assertEqual(shown[-len(truth):], truth)

    def test_pushes_without_prev_ask_what_lies_between(self):
        server = self.server("--no-log-prev")
        server.post(10)
        host = self.host(server)
        host.sync()
        host.asked.clear()
        server.post(3)
        host.settle()
        self.equal(host)
        self.assertIn("get_entries", host.asked)

    def test_a_file_keeps_its_kind(self):
        server = self.server()
        server.post(5)
        host = self.host(server, self.path)
        host.sync()
        host.close()
        before = pathlib.Path(self.path).read_bytes()
        for profile in (Profile(), Profile(capabilities=Capabilities.SEQUENCE), None):
            with self.assertRaises(tideline.MismatchError) as caught:
                tideline.Client(self.path, KEY, user_id="eva", profile=profile)
            self.assertIn("TL_SERVER_LOG", str(caught.exception))
        self.assertEqual(pathlib.Path(self.path).read_bytes(), before)
        host = self.host(server, self.path)
        self.assertEqual(len(host.page().messages), 5)

    def test_a_message_is_given_back(self):
        server = self.server()
        ids = server.post(60)
        host = self.host(server, self.path)
        host.sync()
        host.scroll()
        room = server.room
        for which in (30, 0, -1):
            host.client.drop(room, ids[which])
            self.assertNotIn(ids[which], [row[0] for row in host.shown()])
            # The newest is asked for by itself, others by whoever scrolls there.
            host.settle()
            host.scroll()
            self.equal(host)


if __name__ == "__main__":
    unittest.main()

"""Messages by their numbers, as an entry of the change feed names them."""

import json
import unittest

import tideline

from support import Server, message, take

EVERY = (0, 2 ** 64 - 1)


class Numbered(unittest.TestCase):
    def setUp(self):
        self.client = tideline.Client(user_id="me")
        self.server = Server()
        self.addCleanup(self.client.close)
        self.client.connected()

    def push(self, conversation, number):
        self.client.receive(json.dumps({
            "type": "message_new", "conversation_id": conversation,
            "message": message(number, conversation_id=conversation)}))

    def ids(self, *numbers, conversation="c", limit=0):
        return [m.id for m in self.client.numbered(conversation, *numbers, limit=limit)]

    def test_entries_name_them(self):
        """A bot reads what each entry offers, and nothing besides."""
        for number in (3, 1, 2):
            self.push("c", number)
            self.push("other", number)
        offered = [
            (change.conversation, found.id)
            for change in self.client.changes().entries
            if change.notify
            for found in self.client.numbered(change.conversation, change.first, change.last)]
        self.assertEqual(offered, [
            (room, f"m{number}") for number in (3, 1, 2) for room in ("c", "other")])

    def test_numbers_order_them_and_a_limit_goes_on(self):
        for number in range(59, 0, -1):
            self.push("c", number)
        came = [f"m{number}" for number in range(59, 0, -1)]
        self.assertEqual(self.ids(*EVERY), came[:50])
        found, last = [], 0
        while page := self.client.numbered("c", last, EVERY[1], limit=7):
            found += [m.id for m in page]
            last = page[-1].number + 1
        self.assertEqual(found, came)
        # They are the rows that a page shows.
        shown = {m.number: m for m in self.client.messages("c", limit=100).messages}
        for row in self.client.numbered("c", *EVERY, limit=100):
            self.assertEqual(row, shown[row.number])
        self.assertEqual(self.ids(row.number, row.number), ["m1"])

    def test_what_is_not_seen_is_left_out(self):
        for number in range(1, 5):
            self.push("c", number)
        self.client.receive(json.dumps({
            "type": "message_deleted", "conversation_id": "c", "message_ids": ["m2"]}))
        self.client.forget("c", "m3")
        self.client.send("c", "mine")
        self.assertEqual(self.ids(*EVERY)[:2], ["m1", "m4"])
        rows = self.client.numbered("c", *EVERY)
        self.assertEqual(len(rows), 3)
        self.assertEqual(rows[2].payload, b'"mine"')
        number = rows[2].number
        take(self.client, self.server)
        self.assertEqual(self.ids(number, number), ["s1"])
        self.assertEqual(self.ids(*EVERY, conversation="nobody's"), [])

    def test_what_is_no_range_is_refused(self):
        for first, last, limit in ((2, 1, 0), (0, 1, 10_001)):
            with self.assertRaises(tideline.InvalidError):
                self.client.numbered("c", first, last, limit)


if __name__ == "__main__":
    unittest.main()

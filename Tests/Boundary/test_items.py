"""Items from Python: what is kept up to date stays so, whoever polls."""

import unittest

import tideline

from test_find import push


class KeptItems(unittest.TestCase):
    def setUp(self):
        self.client = tideline.Client(user_id="me")
        self.addCleanup(self.client.close)
        self.window = self.client.window("c")
        self.items = tideline.Items(self.window)
        self.addCleanup(self.items.close)
        self.count = 0

    def come(self, count):
        for _ in range(count):
            self.count += 1
            push(self.client, f"m{self.count}", f"text {self.count}")

    def messages(self):
        return sum(item.row_count for item in self.items.current)

    def test_a_poll_in_between_is_made_up_for(self):
        self.come(3)
        self.assertIsNotNone(self.items.update())
        self.come(2)
        self.assertIsNotNone(self.items.poll())
        self.come(4)
        self.assertIsNotNone(self.items.update())
        self.assertEqual(self.messages(), 9)
        self.come(1)
        self.assertIsNotNone(self.items.update())
        self.assertEqual(self.messages(), 10)

    def test_a_read_that_fails_is_made_up_for(self):
        self.come(3)
        read, self.items.read = self.items.read, None
        with self.assertRaises(TypeError):
            self.items.update()
        self.items.read = read
        self.come(1)
        self.assertIsNotNone(self.items.update())
        self.assertEqual(self.messages(), 4)

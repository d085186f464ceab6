"""Gaps of a window: which need the server."""

import unittest

import tideline
from support import message, serve

GAP = tideline.MessageFlags.GAP_BEFORE


class Gaps(unittest.TestCase):
    def check_pages(self, window, total, gap):
        """header: "Where messages may be missing, or in a window are not loaded." """
        for first in range(total):
            for count in range(1, total + 1):
                page = window.page(first, count)
                rows, found = len(page.messages), [one.before_row for one in page.coverage.gaps]
                inside = [row for row in found if 0 < first + row < total]
                self.assertEqual(inside, [gap - first] if first <= gap <= first + rows else [])
                self.assertEqual(page.coverage.whole, not any(0 < row < rows for row in found))
                for one in page.coverage.gaps:
                    self.assertLessEqual(one.low_us, one.high_us)

    def test_a_gap_of_stored_messages_is_filled_from_the_cache(self):
        """header: "from the cache where it has them all, otherwise requested" """
        with tideline.Client(user_id="me") as client:
            client.connected()
            client.sync("c")
            serve(client, [message(number) for number in range(1, 31)])
            window = client.window("c", count=5)
            rows = tideline.Rows(window)
            rows.poll()
            window.load(tideline.LoadKind.AROUND, 3, at=tideline.At.MESSAGE, id="m8")
            rows.poll()
            client.disconnected()
            self.assertLess(len(rows.messages), 10)
            gap, = [n for n, row in enumerate(rows.messages) if n and GAP in row.flags]
            self.check_pages(window, len(rows.messages), gap)
            self.assertTrue(window.fill(gap))
            rows.poll()
            first = int(rows.messages[0].id[1:])
            self.assertEqual([row.id for row in rows.messages],
                             [f"m{number}" for number in range(first, 31)])

            client.drop("c", "m20")
            rows.poll()
            gap, = [n for n, row in enumerate(rows.messages) if n and GAP in row.flags]
            with self.assertRaises(tideline.OfflineError):
                window.fill(gap)


if __name__ == "__main__":
    unittest.main()

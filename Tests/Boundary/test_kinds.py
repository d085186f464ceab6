"""Kinds of server that a client does not open for, and what a log of deletions tells."""

import json
import unittest

import tideline

from support import message, take


class Kinds(unittest.TestCase):
    def test_an_order_that_is_not_of_times_is_refused(self):
        # header: "without TL_SERVER_SEQUENCE or TL_SERVER_LOG opening is TL_E_UNSUPPORTED"
        refused = tideline.Profile(order_not_time=True)
        with self.assertRaisesRegex(tideline.UnsupportedError, "numbers, or a log"):
            tideline.Client(user_id="me", profile=refused)
        numbered = tideline.Profile(order_not_time=True, deletions_later=True,
                                    capabilities=tideline.Capabilities.SEQUENCE)
        tideline.Client(user_id="me", profile=numbered).close()

    def test_pages_that_go_on_showing_what_was_deleted(self):
        rows = [message(number) for number in range(1, 6)]

        def told(request):
            if request["type"] == "get_deleted_since":
                return {"message_ids": ["m2", "m4"], "next_since": "~5"}
            # The newest one stands within the overlap.
            return {"messages": rows[4:] if "after_ts" in request else rows[request["offset"]:]}

        for later, left in ((False, 5), (True, 3)):
            profile = tideline.Profile(deletions_later=later)
            with tideline.Client(user_id="me", profile=profile) as client:
                client.connected()
                client.sync("c")
                asked = take(client, told)
                self.assertEqual(len(client.messages("c").messages), left)
                self.assertEqual([one["type"] for one in asked][-1] == "get_deleted_since", later)
                client.sync("c")
                again = take(client, told)
                if later:
                    self.assertEqual(again[-1]["since"], "~5")
                    page = client.messages("c")
                    self.assertTrue(page.coverage.whole)

    def test_one_users_reaction(self):
        with tideline.Client(user_id="me") as client:
            client.connected()
            client.receive(json.dumps({"type": "message_new", "conversation_id": "c",
                                       "message": message(1)}))
            for user, added in (("you", True), ("me", True), ("you", False)):
                client.receive(json.dumps({
                    "type": "message_reacted", "conversation_id": "c", "message_id": "m1",
                    "user_id": user, "reaction": "x", "added": added}))
            row, = client.messages("c").messages
            self.assertEqual(json.loads(row.reactions_json), {"x": ["me"]})


if __name__ == "__main__":
    unittest.main()

"""Files that earlier commits have made open: one of each form that is unlike the others."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import tideline
from tideline import OperationState

FORMS = pathlib.Path(__file__).resolve().parent / "forms"
sys.path.insert(0, str(FORMS))

import make_form  # noqa: E402


class Forms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_all(self, client):
        """What `make_form` has put in is there."""
        page = client.messages("c", limit=100)
        sent = [row for row in page.messages if row.client_id]
        self.assertEqual([row.payload for row in sent], [b'"waits"'])
        self.assertEqual(sent[0].reply_to, "m03")
        ids = [row.id for row in page.messages if row not in sent]
        self.assertEqual(ids, [f"m{n:02}" for n in range(1, 42) if n != 9])
        self.assertEqual(client.message("c", "m07").payload, b'"edited"')
        self.assertEqual(json.loads(client.message("c", "m40").payload), "text 40 你好")
        reactions = client.message("c", "m05").reactions
        self.assertEqual([(one.reaction, one.users) for one in reactions], [("+", ("you",))])
        self.assertEqual([(one.verb, one.conversation, one.message, one.state)
                          for one in client.operations()],
                         [("send_message", "c", "", OperationState.QUEUED),
                          ("edit_message", "c", "m07", OperationState.QUEUED),
                          ("react_message", "c", "m03", OperationState.QUEUED)])
        rooms = {room.id: room for room in client.conversations()}
        self.assertEqual(rooms["c"].unread, 36)
        self.assertEqual(rooms["e"].draft, b"a draft")

    def test_each_opens_and_has_all(self):
        files = sorted(FORMS.glob("*.tide"))
        self.assertGreaterEqual(len(files), 7)
        for file in files:
            with self.subTest(file.name):
                path = self.folder / file.name
                for end in ("", "-own"):
                    if (FORMS / (file.name + end)).exists():
                        shutil.copyfile(FORMS / (file.name + end), f"{path}{end}")
                for _ in range(2):
                    with make_form.open_client(path) as client:
                        self.check_all(client)
                # It goes on: nothing is fetched twice that was known, and nothing is missing.
                with make_form.open_client(path) as client:
                    client.connected()
                    client.sync("c", tideline.SyncKind.OLDER, want=100)
                    make_form.serve(client)
                    page = client.messages("c", limit=100)
                    self.assertLessEqual({f"m{n:02}" for n in range(1, 41) if n != 9},
                                         {row.id for row in page.messages})
                    self.assertEqual(client.check().step(10_000).is_done, True)


if __name__ == "__main__":
    unittest.main()

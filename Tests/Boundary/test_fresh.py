"""What a host is told of a file that lacks commits: its log is gone, or it is an older one."""

import json
import os
import shutil
import tempfile
import unittest

import tideline

from support import KEY
from test_find import push


def opened(path, **more):
    return tideline.Client(path, KEY, user_id="me", **more)


def count(client):
    return len(client.messages("c", limit=1000).messages)


class Fresh(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.copy = f"{folder.name}/chat", f"{folder.name}/copy"

    def test_a_copy_without_its_log(self):
        """60 copies of a live file without its log: each is noticed, and refused where the host
        wishes so."""
        with opened(self.path) as client:
            for number in range(60):
                push(client, f"m{number}", "x" * 300)
                for end in ["", "-wal", "-own"]:
                    if os.path.exists(self.copy + end):
                        os.remove(self.copy + end)
                shutil.copy(self.path, self.copy)
                with self.assertRaises(tideline.DamagedError):
                    opened(self.copy, fresh=True).close()
                with opened(self.copy) as there:
                    # header: "The log was removed, cut or replaced."
                    self.assertTrue(there.state().log_lost)
                    self.assertLess(count(there), number + 1)
        with opened(self.path, fresh=True) as client:
            self.assertFalse(client.state().log_lost)
            self.assertEqual(count(client), 60)

    def test_own_work_comes_back(self):
        """A send that only the lost log had is put back from NAME-own."""
        with opened(self.path) as client:
            push(client, "m", "x")
            client.send("c", "before")
        with opened(self.path) as client:
            client.send("c", "mine")
            shutil.copy(self.path, self.copy)
            shutil.copy(self.path + "-own", self.copy + "-own")
            with opened(self.copy) as there:
                self.assertTrue(there.state().log_lost)
                sent = [json.loads(one.request)["payload"] for one in there.operations()]
                self.assertEqual(sent, ["before", "mine"])
                # Both may have been sent, and the commits that said so lost.
                self.assertNotIn(tideline.OperationState.QUEUED,
                                 {one.state for one in there.operations()})

    def test_an_older_file(self):
        """The number that the host has kept finds each older copy, and no newer one."""
        kept = []
        for number in range(20):
            with opened(self.path, commit_seq=kept[-1] if kept else 0, fresh=True) as client:
                # header: "Newest commit known to survive a power cut, or 0."
                at = client.state().commit_seq
                self.assertEqual(at, kept[-1] if kept else at)
                push(client, f"m{number}", "x")
                self.assertLessEqual(client.state().commit_seq, at + 1)
            with opened(self.path) as client:
                kept.append(client.state().commit_seq)
                self.assertGreater(kept[-1], at)
            shutil.copy(self.path, f"{self.copy}{number}")
        for number, at in enumerate(kept):
            file = f"{self.copy}{number}"
            with opened(file, commit_seq=at) as client:
                self.assertFalse(client.state().older)
            if number < 19:
                with self.assertRaises(tideline.DamagedError):
                    opened(file, commit_seq=kept[-1], fresh=True).close()
            with opened(file, commit_seq=kept[-1]) as client:
                # header: "The file was older than `commit_seq` of #tl_client_config."
                self.assertEqual(client.state().older, number < 19)
                self.assertEqual(count(client), number + 1)

    def test_a_file_that_is_not_there(self):
        # header: "Refuses a file that lacks commits"
        with self.assertRaises(tideline.NotFoundError):
            opened(self.path, commit_seq=7, fresh=True).close()
        self.assertFalse(os.path.exists(self.path))
        with opened(self.path, commit_seq=1_000) as client:
            self.assertTrue(client.state().older)
        for wrong in [{"fresh": True}, {"commit_seq": 1}]:
            with self.assertRaises(tideline.InvalidError):
                tideline.Client(user_id="me", **wrong).close()


if __name__ == "__main__":
    unittest.main()

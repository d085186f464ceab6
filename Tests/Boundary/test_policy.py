"""Policies from Python: where an answer may come from, and what it says of that."""

import unittest

import tideline
from tideline import Basis, Policy, PolicyChoice, Status, SyncPhase

from test_find import push


class Policies(unittest.TestCase):
    def test_without_a_connection(self):
        with tideline.Client(user_id="me") as client:
            push(client, "m1", "here")
            only = client.sync_status(client.sync("c", policy=Policy.NETWORK_ONLY))
            self.assertEqual((only.phase, only.result), (SyncPhase.ENDED, Status.OFFLINE))
            first = client.sync_status(client.sync("c", policy=Policy.NETWORK_FIRST))
            self.assertEqual((first.result, first.reason), (Status.OK, Status.OFFLINE))
            self.assertEqual((first.basis, first.as_of_us), (Basis.CACHE, 0))
            waits = client.sync("c", policy=Policy.NETWORK_FIRST, limit_ms=50_000)
            self.assertEqual(client.sync_status(waits).phase, SyncPhase.WAITING)
            self.assertTrue(client.cancel(waits))

    def test_a_window_stays_shut(self):
        now = [1_000]
        with tideline.Client(user_id="me", clock=lambda: now[0]) as client:
            push(client, "m1", "here")
            shut = client.window("c", policy=Policy.NETWORK_ONLY)
            first = client.window("c", policy=Policy.NETWORK_FIRST, limit_ms=2_000)
            self.assertIsNone(shut.poll())
            self.assertIsNone(first.poll())
            self.assertEqual(shut.state().trouble, Status.OFFLINE)
            self.assertEqual(client.advance(), 2_000)
            now[0] += 2_000
            client.advance()
            self.assertIsNotNone(first.poll())
            self.assertEqual(first.state().row_count, 1)
            self.assertEqual(first.state().basis, Basis.CACHE)
            self.assertEqual(shut.state().row_count, 0)

    def test_a_list_stays_shut(self):
        now = [1_000]
        with tideline.Client(user_id="me", clock=lambda: now[0]) as client:
            push(client, "m1", "here")
            shut = client.conversation_list(policy=Policy.NETWORK_ONLY)
            first = client.conversation_list(policy=Policy.NETWORK_FIRST, limit_ms=2_000)
            self.assertIsNone(shut.poll())
            self.assertIsNone(first.poll())
            self.assertEqual(shut.state().trouble, Status.OFFLINE)
            self.assertEqual(client.advance(), 2_000)
            now[0] += 2_000
            client.advance()
            self.assertIsNotNone(first.poll())
            self.assertEqual((first.state().row_count, first.state().basis), (1, Basis.CACHE))
            self.assertEqual((shut.state().row_count, shut.state().as_of_us), (0, 0))
            with self.assertRaises(tideline.InvalidError):
                client.conversation_list(policy=Policy.HOST)

    def test_the_host_chooses(self):
        asked = []

        def choose(question):
            asked.append((question.conversation, question.window))
            if question.window:
                raise ValueError("it fails")
            return PolicyChoice(Policy.CACHE_ONLY)

        with tideline.Client(user_id="me", choose=choose) as client:
            sync = client.sync("c", policy=Policy.HOST)
            self.assertEqual(client.sync_status(sync).phase, SyncPhase.ENDED)
            with self.assertLogs("tideline", "ERROR"):
                window = client.window("c", policy=Policy.HOST)
            self.assertEqual(window.state().basis, Basis.CACHE)
            self.assertEqual(asked, [("c", False), ("c", True)])
        with tideline.Client(user_id="me") as client:
            with self.assertRaises(tideline.InvalidError):
                client.sync("c", policy=Policy.HOST)

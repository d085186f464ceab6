"""Each fault that is planted in an adapter is named, and nothing is said of one without any."""

import dataclasses
import json
import pathlib
import re
import unittest

from small import World
from tideline import Capabilities, IdempotencyScope, Profile, Ties, Truncates
from tideline.probe import Level, Setup, differences, fit, probe

#: What is planted, and what the probe calls it.
FAULTS = {
    "mark_read unanswered": "unanswered",
    "ids not echoed": "ids-not-echoed",
    "another id echoed": "echo-wrong",
    "answered twice": "answered-twice",
    "offset off by one": "offset-off",
    "deleted rows in pages": "deleted-in-pages",
    "inclusive for exclusive": "before-inclusive",
    "exclusive for inclusive": "changed-exclusive",
    "unsorted pages": "unsorted",
    "wrong counts": "count-wrong",
    "deleted messages counted": "counts-hidden",
    "counts of the selection": "count-of-selection",
    "after_ts loses the first": "after-wrong",
    "pages larger than asked": "over-limit",
    "has_more always false": "has-more-wrong",
    "before_id left out": "before-id",
    "around without its message": "around-without-target",
    "around the newest where unknown": "around-unknown",
    "deletions by the message's time": "deletion-times",
    "deletions not told": "deletions-untold",
    "cursors, and pages name none": "deletions-cursor",
    "lost messages": "lost-message",
    "client ids of its own": "client-id-wrong",
    "sends answered without a message": "send-without-message",
    "edits not shown": "edit-unseen",
    "edits in another name": "edit-changes-sender",
    "reactions doubled": "reaction-twice",
    "times differ from the answers": "stamp-changes",
    "finer printed than it is": "resolution",
    "deleted sends repeated": "deleted-comes-back",
    "sends repeated and answered once": "sent-twice",
    "back-dated": "order-not-time",
    "an exception at a verb": "adapter-raised",
    "the connection ends at an unknown id": "connection-ended",
    "places ignored": "place-ignored",
    "edits by others": "edits-of-others",
    "sends known on a connection": "idempotency-scope",
    "sends known by a login": "idempotency-scope",
    "sends known for two minutes": "idempotency-time",
    "lists from a cache": "list-stale",
    "times without seconds": "time-short",
}
#: Named beside the fault itself, since it is seen there too.
BESIDE = {
    "mark_read unanswered": {"marks-refused"},
    "another id echoed": {"unanswered", "deletions-refused", "deletions-untold"},
    "unsorted pages": {"page-holes", "lost-message", "has-more-wrong", "late"},
    "times differ from the answers": {"push-differs", "resolution", "after-wrong"},
    "inclusive for exclusive": {"before-id"},
    "before_id left out": {"before-id-unknown"},
    "around without its message": {"around-ts"},
    "edits not shown": {"changed-missing"},
    "cursors, and pages name none": {"deletions-untold", "changed_since-refused"},
    "back-dated": {"stamps-back"},
}


def hello(user, login):
    return (json.dumps({"type": "hello", "user": user, "login": login}),)


def run(fault=""):
    world = World(fault)
    return probe(Setup(dial=world.dial, conversation="c", clock=world.clock, pause=world.pause,
                       messages=40, run="run", hello=hello("me", "first"),
                       other=hello("you", "other"), device=hello("me", "second"), patient=True))


class Planted(unittest.TestCase):
    def test_an_adapter_without_a_fault(self):
        report = run()
        self.assertEqual(report.names(Level.FAULT, Level.TRAP), set())
        self.assertEqual(fit(report), Profile(
            truncates=Truncates.NEWEST, ties=Ties.ARRIVAL, capabilities=Capabilities.BEFORE
            | Capabilities.AROUND | Capabilities.CHANGED_SINCE | Capabilities.IDEMPOTENT_SEND))

    def test_what_the_profile_says_of_a_log(self):
        self.assertTrue(fit(run("back-dated")).order_not_time)
        self.assertTrue(fit(run("deleted rows in pages")).deletions_later)

    def test_the_page_has_eleven_of_them(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        page = (root / "docs" / "guide" / "adapter.md").read_text()
        rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", page, re.MULTILINE)
        self.assertEqual([int(number) for number, _ in rows], list(range(1, 12)))
        for number, said in rows:
            names = set(re.findall(r"`([\w-]+)`", said))
            self.assertTrue(names and names <= {*FAULTS.values(), *BESIDE["unsorted pages"]},
                            (number, names))

    def test_who_looks_up_before_a_send_brings_nothing_back(self):
        report = run("sends looked up first")
        self.assertEqual(report.names(Level.FAULT, Level.TRAP), set())
        self.assertIn("deleted-is-unknown", report.names(Level.SEEN))

    def test_cursors_that_pages_name_are_asked_with(self):
        report = run("cursors named")
        self.assertEqual(report.names(Level.FAULT, Level.TRAP), set())
        self.assertIn("cursors", report.names(Level.SEEN))
        self.assertIn(Capabilities.CHANGED_SINCE, fit(report).capabilities)

    def test_what_the_profile_says_of_sends(self):
        for fault, scope, seconds in (("sends known on a connection", "CONNECTION", 0),
                                      ("sends known by a login", "DEVICE", 0),
                                      ("sends known for two minutes", "ACCOUNT", 120)):
            profile = fit(run(fault))
            self.assertEqual((profile.idempotency_scope, profile.idempotency_s),
                             (IdempotencyScope[scope], seconds))
            self.assertNotEqual(differences(run(fault), dataclasses.replace(
                profile, idempotency_scope=IdempotencyScope.ACCOUNT, idempotency_s=0)), [])
            self.assertEqual(differences(run(fault), profile), [])

    def test_an_adapter_that_raises_at_each_request_leaves_a_report(self):
        world = World()
        dial = world.dial

        def broken():
            link = dial()
            link.send = lambda frame: 1 / 0
            return link

        report = probe(Setup(dial=broken, conversation="c", clock=world.clock, pause=world.pause))
        self.assertLessEqual({"adapter-raised", "connection-lost"}, report.names(Level.FAULT))
        self.assertIn("test_faults.py:", report.text("adapter-raised"))

    def test_each_fault_is_named(self):
        for fault, name in FAULTS.items():
            with self.subTest(fault):
                found = run(fault).names(Level.FAULT, Level.TRAP)
                self.assertIn(name, found)
                self.assertEqual(found - {name} - BESIDE.get(fault, set()), set())


if __name__ == "__main__":
    unittest.main()

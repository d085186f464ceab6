"""The probe against the reference server with --log, and faults planted on the way to it."""

import itertools
import json
import unittest

from tideline import Capabilities, Profile
from tideline.probe import Level, dialer, differences, fit, probe

from test_server import ProbeTest, Server

LOG = Capabilities.LOG


class Altered:
    """A link on which frames of a type are changed on their way to the probe."""

    def __init__(self, link, kind, alter):
        self.link, self.kind, self.alter = link, kind, alter
        self.send, self.close = link.send, link.close

    def receive(self, timeout_s):
        raw = self.link.receive(timeout_s)
        value = json.loads(raw) if raw else {}
        if value.get("type") != self.kind:
            return raw
        self.alter(value)
        return json.dumps(value).encode()


class LogTest(ProbeTest):
    def planted(self, kind, alter):
        """The names of the faults that are found."""
        server = Server("--log")
        self.addCleanup(server.close)
        setup, dial = server.setup(), dialer(f"tcp://127.0.0.1:{server.port}")
        report = probe(type(setup)(**{
            **vars(setup), "dial": lambda: Altered(dial(), kind, alter)}))
        return report.names(Level.FAULT, Level.TRAP)

    def test_a_log(self):
        report = self.look("--log")
        self.assertEqual(report.names(Level.TRAP), set())
        self.assertIn(Capabilities.LOG, fit(report).capabilities)
        self.assertEqual(fit(report).capabilities & ~Capabilities.IDEMPOTENT_SEND, LOG)
        self.assertEqual(differences(report, fit(report)), [])
        self.assertIn("declares before, and it is not there",
                      differences(report, Profile(capabilities=Capabilities.BEFORE)))
        self.assertIn("tokens-restored", report.names(Level.UNKNOWN))
        self.assertLessEqual({"order", "around", "tokens", "pushes"}, report.names(Level.SEEN))

    def test_pushes_without_prev_and_a_room_that_is_only_read(self):
        self.assertEqual(self.look("--log", "--no-log-prev").names(Level.TRAP), {"prev-missing"})
        report = self.look("--log", read_only=True)
        self.assertIn("writing", report.names(Level.UNKNOWN))
        self.assertIn(Capabilities.LOG, fit(report).capabilities)

    def test_a_server_of_times_has_none(self):
        report = self.look()
        self.assertIn("declares log, and it is not there",
                      differences(report, Profile(capabilities=Capabilities.LOG)))

    def test_faults_are_named(self):
        def data(change):
            return lambda frame: change(frame["data"]) if "data" in frame else None

        turns = itertools.count()

        def one_of_each(page):
            if len(page["entries"]) == 20:
                del page["entries"][next(turns) % 13]

        for name, kind, alter in (
                ("entries-malformed", "get_entries", data(lambda page: page.pop("after"))),
                ("present-missing", "get_entries", data(lambda page: page.pop("present", 0))),
                ("present-early", "get_entries", data(lambda page: page.update(present=True))),
                ("page-holes", "get_entries", data(one_of_each)),
                ("over-limit", "get_entries", data(
                    lambda page: page.update(entries=page["entries"] * 2))),
                ("doubled", "get_entries", data(
                    lambda page: [entry.update(entry_id="x") for entry in page["entries"]
                                  if "change" in entry])),
                ("prev-wrong", "entries_new", lambda push: push.update(prev="elsewhere")),
                ("edits-of-others", "get_entries", data(
                    lambda page: [entry.update(sender_id="editor") for entry in page["entries"]
                                  if entry.get("change") == "edit"])),
                ("changes-untold", "get_entries", data(
                    lambda page: [entry.update(change="none") for entry in page["entries"]
                                  if "change" in entry]))):
            with self.subTest(name):
                self.assertIn(name, self.planted(kind, alter))


if __name__ == "__main__":
    unittest.main()

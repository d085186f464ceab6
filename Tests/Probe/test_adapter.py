"""The adapter of docs/guide/adapter.md: the probe finds nothing wrong with it, and a client that is
carried by it has what the server has."""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

import tideline
from harbour import Harbour
from tideline.probe import Level, Setup, fit, probe
from tideline.probe.link import dialer, load

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "python" / "examples"


def module(name):
    """An example as it is, with the page's text."""
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), EXAMPLES / name)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def example():
    return module("adapter.py")


def carry(client, adapter):
    """A host's whole loop: what the client wants to send, and what comes."""
    count = 0
    for frame in client.frames():
        adapter.send(frame.bytes)
        client.frame_sent(frame.id)
        client.receive(adapter.receive(30))
        count += 1
    return count


class Loading(unittest.TestCase):
    """How the command finds an adapter, wherever it is run."""

    def test_a_file_may_import_what_lies_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "beside_the_adapter.py").write_text("WORD = 'found'\n")
            mine = pathlib.Path(folder, "mine.py")
            mine.write_text("import beside_the_adapter\nword = beside_the_adapter.WORD\n")
            self.addCleanup(sys.path.remove, str(pathlib.Path(folder).resolve()))
            self.assertEqual(load(f"{mine}:word"), "found")

    def test_what_names_no_adapter_is_said(self):
        for target in ("mine.py", "http://host", "tcp://host", "nowhere_at_all:connect"):
            with self.subTest(target), self.assertRaises(ImportError):
                dialer(target)


class TheExample(unittest.TestCase):
    def setUp(self):
        self.server = Harbour()
        self.addCleanup(self.server.close)
        self.adapter = example().Adapter(self.server.base)

    def test_nothing_is_wrong_with_it(self):
        report = probe(Setup(
            dial=lambda: example().Adapter(self.server.base), conversation="quay", messages=40,
            clock=self.server.clock, pause=self.server.pause))
        self.assertEqual(report.of(Level.FAULT), [])
        self.assertEqual(report.names(Level.TRAP), {"pushes"})
        found = fit(report)
        self.assertEqual(found.truncates, tideline.Truncates.NEWEST)
        self.assertEqual(found.capabilities, tideline.Capabilities.IDEMPOTENT_SEND)

    def test_a_client_has_what_the_server_has(self):
        for number in range(120):
            self.server.post("quay", f"before {number}", author="you")
            self.server.pause(3)
        profile = tideline.Profile(capabilities=tideline.Capabilities.IDEMPOTENT_SEND)
        with tideline.Client(user_id="me", profile=profile) as client:
            def same():
                client.sync("quay")
                carry(client, self.adapter)
                client.sync("quay", tideline.SyncKind.OLDER, want=10_000)
                carry(client, self.adapter)
                page = client.messages("quay", limit=1_000)
                self.assertTrue(page.coverage.whole)
                self.assertEqual([(row.id, row.json) for row in page.messages],
                                 [(row["id"], row["text"]) for row in self.server.rooms["quay"]])

            client.connected()
            same()
            client.send("quay", "from here")
            carry(client, self.adapter)
            for number in (2, 60, 118):
                self.server.handle("DELETE", ["rooms", "quay", "messages", f"h{number}"], {}, None)
            self.server.pause(60)
            self.server.post("quay", "later", author="you")
            same()
            client.sync("quay")
            self.assertLessEqual(carry(client, self.adapter), 2)


if __name__ == "__main__":
    unittest.main()

"""The probe against the reference server: what kind of server it plays is found out, and nothing is
called a fault. Time passes for server and probe alike when the probe waits, so no test does."""

import dataclasses
import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

from tideline import Capabilities, Profile, Ties, Truncates
from tideline.probe import Level, Setup, dialer, differences, fit, probe
from tideline.probe.fitting import declared

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HELLO = json.dumps({"type": "hello", "user": "eva"})


class Server:
    """A server of one kind, with an empty conversation, and its clock."""

    def __init__(self, *options):
        program = os.environ.get("TIDELINE_SERVER", str(ROOT / "out" / "tideline-server"))
        self.process = subprocess.Popen(
            [program, "--tcp-port", "0", "--ws-port", "0", "--messages", "0", "--conversations",
             "1", *options], stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        self.port = int(ready.split("tcp=")[1].split()[0])
        self.ahead = 0
        self.control = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.lines = self.control.makefile("r", encoding="utf-8")
        self.ask({"type": "hello", "user": "control"})
        made = self.ask({"type": "create_conversation", "participant_ids": ["eva"]})
        self.conversation = made["conversation"]["conversation_id"]

    def ask(self, request):
        self.control.sendall(json.dumps(request).encode() + b"\n")
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("type") == request["type"] and "status" in answer:
                return answer["data"]
        raise AssertionError("the server has closed")

    def pause(self, seconds):
        whole = math.ceil(seconds)
        self.ask({"type": "admin_advance", "over_s": whole})
        self.ahead += whole

    def clock(self):
        return time.time() + self.ahead

    def setup(self, **more):
        return Setup(
            dial=dialer(f"tcp://127.0.0.1:{self.port}"), conversation=self.conversation,
            hello=(HELLO,), other=(HELLO.replace("eva", "otto"),), clock=self.clock,
            pause=self.pause, settle_s=0.05, run="run", **more)

    def close(self):
        self.lines.close()
        self.control.close()
        self.process.terminate()
        self.process.stdout.close()
        self.process.wait()


class ProbeTest(unittest.TestCase):
    def look(self, *options, faults=(), **more):
        """The report of a run against a server of this kind."""
        server = Server(*options)
        self.addCleanup(server.close)
        self.server = server
        report = probe(server.setup(**more))
        found = {one.name: one.text for one in report.of(Level.FAULT)}
        self.assertEqual(set(found), set(faults), found)
        return report

    def traps(self, report):
        return report.names(Level.TRAP)


class Configurations(ProbeTest):
    def test_the_first_form(self):
        report = self.look()
        self.assertEqual(fit(report), Profile(truncates=Truncates.NEWEST, ties=Ties.ID))
        self.assertIs(report.facts.after_inclusive, False)
        self.assertIs(report.facts.order_is_time, True)
        self.assertEqual(self.traps(report), set())
        self.assertLessEqual({"ids-echoed", "counts", "echo", "deletions", "edits", "latency"},
                             report.names(Level.SEEN))
        self.assertEqual(report.names(Level.UNKNOWN), {"lossless", "horizon", "backdating"})
        self.assertIn("behind its answer", report.text("echo"))

    def test_keeps_the_oldest_by_arrival_and_includes_its_time(self):
        report = self.look("--truncates", "oldest", "--ties", "arrival", "--inclusive")
        self.assertEqual(fit(report), Profile(truncates=Truncates.OLDEST, ties=Ties.ARRIVAL))
        self.assertIs(report.facts.after_inclusive, True)

    def test_all_places_of_pages(self):
        report = self.look("--capability", "before", "--capability", "around", "--capability",
                           "changed_since", "--has-more", "--ties", "arrival")
        self.assertEqual(fit(report).capabilities, Capabilities.BEFORE | Capabilities.AROUND
                         | Capabilities.CHANGED_SINCE)

    def test_microseconds_have_no_ties(self):
        report = self.look("--resolution", "us", "--capability", "before")
        self.assertEqual(fit(report), Profile(truncates=Truncates.NEWEST,
                                              capabilities=Capabilities.BEFORE))
        self.assertIn("ties", report.names(Level.UNKNOWN))
        self.assertEqual(report.facts.printed_us, 1)

    def test_numbers(self):
        report = self.look("--capability", "sequence", "--capability", "prev_id")
        self.assertEqual(fit(report).capabilities, Capabilities.SEQUENCE)

    def test_a_cap_of_pages(self):
        report = self.look("--page-cap", "20", "--has-more")
        self.assertEqual(fit(report), Profile(page_limit=20, truncates=Truncates.NEWEST,
                                              ties=Ties.ID))
        self.assertEqual(self.traps(report), {"page-cap"})

    def test_sizes_that_vary(self):
        report = self.look("--pages-vary", "--truncates", "oldest")
        self.assertTrue(fit(report).page_size_varies)
        self.assertEqual(fit(report).truncates, Truncates.OLDEST)

    def test_ids_that_are_not_echoed(self):
        report = self.look("--no-echo")
        self.assertEqual(self.traps(report), {"ids-not-echoed"})

    def test_a_send_that_is_done_once(self):
        report = self.look("--capability", "idempotent_send", "--server-time")
        self.assertEqual(fit(report).capabilities, Capabilities.IDEMPOTENT_SEND)
        self.assertNotIn("no server_time", report.text("clock"))

    def test_envelopes(self):
        report = self.look("--capability", "envelope", account="personal")
        self.assertEqual(fit(report).capabilities, Capabilities.ENVELOPE)
        self.assertIn("until they are replied to", report.text("redelivery"))
        self.assertNotIn("redelivery", self.traps(report))

    def test_a_zone_without_a_name(self):
        report = self.look("--zone", "120", "--order", "descending")
        self.assertEqual(fit(report).zone_offset_min, 120)
        self.assertEqual(self.traps(report), {"zone"})

    def test_without_counts_and_the_newest_first(self):
        report = self.look("--no-total-count", "--order", "descending", "--stamps", "zulu")
        self.assertEqual(fit(report), Profile(truncates=Truncates.NEWEST, ties=Ties.ID))
        self.assertIn("no total_count", report.text("counts"))

    def test_the_sender_is_not_told(self):
        report = self.look("--no-tell-sender", "--no-client-ids", "--pushes-at-connect", "3")
        self.assertEqual(self.traps(report), {"no-client-ids", "pushes-at-connect"})
        self.assertIn("not at all", report.text("echo"))

    def test_a_conversation_that_is_not_there(self):
        for options in ((), ("--log",)):
            server = Server(*options)
            self.addCleanup(server.close)
            report = probe(dataclasses.replace(server.setup(), conversation="nowhere"))
            self.assertEqual(report.names(Level.FAULT, Level.TRAP), {"room-refused"})
            self.assertIn("'nowhere' is answered", report.text("room-refused"))

    def test_only_reading(self):
        server = Server("--truncates", "oldest", "--capability", "around")
        self.addCleanup(server.close)
        for _ in range(5):
            server.ask({"type": "admin_post", "conversation_id": server.conversation, "count": 6})
            server.pause(2)
        before = server.ask({"type": "admin_conversations"})
        report = probe(server.setup(read_only=True))
        self.assertEqual(report.of(Level.FAULT), [])
        self.assertEqual(server.ask({"type": "admin_conversations"}), before)
        self.assertEqual(fit(report), Profile(
            truncates=Truncates.OLDEST, ties=Ties.ID, capabilities=Capabilities.AROUND))
        self.assertLessEqual({"writing", "page-cap", "horizon"}, report.names(Level.UNKNOWN))


class Differences(ProbeTest):
    def test_what_is_declared_and_what_is_seen(self):
        report = self.look("--page-cap", "20", "--capability", "around", messages=30)
        wrong = declared("before truncates=oldest page_limit=40 counts_hidden ties=id")
        self.assertEqual(differences(report, wrong), [
            "declares before, and it is not there", "has around, and does not declare it",
            "declares truncates oldest, and it is newest",
            "declares counts_hidden True, and it is False",
            "asks 40 a page, and at most 20 come"])
        self.assertEqual(differences(report, fit(report)), [])

    def test_the_command(self):
        server = Server("--no-echo")
        self.addCleanup(server.close)
        command = [sys.executable, "-m", "tideline.probe", f"tcp://127.0.0.1:{server.port}",
                   server.conversation, "--hello", HELLO, "--read-only", "--declare"]
        fine = subprocess.run([*command, ""], capture_output=True, text=True)
        self.assertEqual((fine.returncode, fine.stderr), (0, ""))
        self.assertIn("ids-not-echoed: request_id is not echoed", fine.stdout)
        self.assertIn("Declared otherwise:\n  nothing\n", fine.stdout)
        other = subprocess.run([*command, "around", "--json"], capture_output=True, text=True)
        self.assertEqual(other.returncode, 1 if json.loads(other.stdout)["differences"] else 0)
        words = subprocess.run([*command, "befor"], capture_output=True, text=True)
        self.assertEqual((words.returncode, words.stdout), (2, ""))
        self.assertRegex(words.stderr, "^--declare cannot be read: .befor. is nothing .*before")
        self.assertNotIn("Traceback", words.stderr)
        for word in ("truncates=left", "page_limit=ten", "before=1"):
            with self.assertRaises(ValueError):
                declared(word)
        nobody = subprocess.run(
            [*command[:3], "tcp://127.0.0.1:1", "c"], capture_output=True, text=True)
        self.assertEqual(nobody.returncode, 2)
        self.assertIn("cannot be reached", nobody.stderr)


if __name__ == "__main__":
    unittest.main()

"""The mirror that adapters to logs share: a log with a clock that steps, mirrored in memory, is a
server of times for the probe and for a client."""

import pathlib
import sys
import unittest

import tideline
from tideline.probe import Level, Setup, probe

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples" / "adapted"))

from mirror import Carrier, Mirror, Unsupported, micros, text  # noqa: E402

HOUR_US = 3_600_000_000


class Log:
    """Entries in order of arrival. Time passes where the probe waits, and with each entry."""

    def __init__(self):
        self.entries, self.now_us = [], 1_772_323_200_000_000

    def clock(self):
        return self.now_us / 1e6

    def pause(self, seconds):
        self.now_us += int(seconds * 1e6)

    def put(self, kind, target=None, said=None, who="me", client_id=None):
        self.now_us += 1_000
        key = f"e{len(self.entries)}"
        # Whole seconds, as archives have them.
        at = self.now_us // 1_000_000 * 1_000_000
        self.entries.append((key, at, kind, target, said, who, client_id))
        return key


class LogAdapter(Carrier):
    user = "me"

    def __init__(self, log):
        super().__init__()
        self.log, self.taken, self.mirror = log, 0, Mirror()
        self.take()
        self.queue.clear()

    def close(self):
        self.queue.clear()

    def take(self):
        for key, at, kind, target, said, who, client_id in self.log.entries[self.taken:]:
            self.mirror.begin(at)
            row = self.mirror.by_id.get(target)
            if kind == "message":
                push = self.mirror.message(key, who, said, client_id)
            elif kind == "delete":
                push = self.mirror.delete(target)
            elif row is None:
                push = None
            elif kind == "edit":
                push = self.mirror.edit(row, said)
            elif kind == "react":
                push = self.mirror.react(row, who, said)
            else:
                push = self.mirror.seen(row, who)
            if push:
                self.put({**push, "conversation_id": "c"})
        self.taken = len(self.log.entries)

    def listen(self, timeout_s):
        self.take()

    def error(self, error):
        raise error

    def do(self, verb, want, name):
        self.take()
        if name != "c":
            raise Unsupported(verb)
        data, target, log = self.mirror.answer(verb, want), want.get("message_id"), self.log
        if data is not None:
            return data
        if verb == "send_message":
            key = log.put("message", said=text(want["payload"]), client_id=want["client_id"])
            self.take()
            return {"message": self.mirror.by_id[key]}
        if verb == "edit_message":
            log.put("edit", target, text(want["payload"]))
        elif verb == "delete_message":
            log.put("delete", target)
        elif verb in ("react_message", "unreact_message"):
            log.put("react", target, [want["reaction"]] if verb == "react_message" else [])
        elif verb == "mark_read":
            for last in self.mirror.last_of(want["message_ids"]):
                log.put("seen", last)
        elif verb != "subscribe":
            raise Unsupported(verb)
        return {}


def carry(client, adapter):
    for frame in client.frames():
        adapter.send(frame.bytes)
        client.frame_sent(frame.id)
        while (came := adapter.receive(0)) is not None:
            client.receive(came)


class Mirrored(unittest.TestCase):
    def test_the_probe_finds_nothing(self):
        log = Log()
        report = probe(Setup(dial=lambda: LogAdapter(log), conversation="c", messages=40,
                             clock=log.clock, pause=log.pause, run="run"))
        self.assertEqual(report.names(Level.FAULT), set())
        self.assertTrue(report.facts.order_is_time)

    def filled(self):
        """A clock that steps back in the middle, and changes on both sides of the step."""
        log = Log()
        for number in range(60):
            log.put("message", said=f"text {number}", who="jan")
            log.pause(1)
        log.now_us -= HOUR_US
        for number in range(60, 130):
            log.put("message", said=f"text {number}", who="jan")
        log.put("edit", "e3", "edited")
        log.put("delete", "e5")
        log.put("delete", "e59")
        return log

    def test_times_are_the_order_and_the_same_in_each_process(self):
        log = self.filled()
        live = LogAdapter(log)
        log.put("delete", "e100")
        log.put("message", said="last", who="jan")
        live.take()
        rows = live.mirror.rows
        times = [micros(row["created_at"]) for row in rows]
        self.assertEqual(times, sorted(set(times)))
        self.assertEqual(rows, LogAdapter(log).mirror.rows)

    def test_a_client_has_what_the_log_has(self):
        log = self.filled()
        profile = tideline.Profile(truncates=tideline.Truncates.NEWEST,
                                   capabilities=tideline.Capabilities.CHANGED_SINCE)
        with tideline.Client(user_id="me", profile=profile) as client:
            def same(adapter):
                client.sync("c")
                carry(client, adapter)
                client.sync("c", tideline.SyncKind.OLDER, want=10_000)
                carry(client, adapter)
                page = client.messages("c", limit=1_000)
                self.assertTrue(page.coverage.whole)
                self.assertEqual([(row.id, row.json) for row in page.messages],
                                 [(row["message_id"], row["payload"])
                                  for row in adapter.mirror.rows])

            client.connected()
            same(LogAdapter(log))
            client.disconnected()
            # Away while the clock steps once more, and what is old is changed by it.
            log.now_us -= HOUR_US
            log.put("edit", "e70", "edited late")
            log.put("delete", "e71")
            for number in range(130, 200):
                log.put("message", said=f"text {number}", who="jan")
            client.connected()
            same(LogAdapter(log))
            self.assertEqual(client.stats().restores, 0)


if __name__ == "__main__":
    unittest.main()

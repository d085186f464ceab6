"""The picture of what is stored of a conversation."""

import contextlib
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
import unittest
import unittest.mock
import warnings
import xml.etree.ElementTree

import tideline
from tideline.spans import SpanKind, read_spans, svg

from support import KEY, message, take

MESSAGES = [message(n % 60, message_id=f"m{n}",
                    created_at=f"2024-05-01T10:{n // 60:02}:{n % 60:02}") for n in range(200)]


def server(request):
    """Pages of 20 from the newest end."""
    if request["type"] == "get_deleted_since":
        return {"message_ids": []}
    last = len(MESSAGES) - request.get("offset", 0)
    count = min(20, request["limit"])
    chosen = [row for row in MESSAGES[max(0, last - count):last]
              if row["created_at"] > request.get("after_ts", "")]
    return {"messages": chosen, "total_count": len(MESSAGES)}


def push(client, row):
    client.receive(json.dumps(
        {"type": "message_new", "conversation_id": "c", "message": row}))


class Pictures(unittest.TestCase):
    def test_nothing_is_one_gap(self):
        with tideline.Client(user_id="me") as client:
            spans = read_spans(client, "c")
            self.assertEqual([span.kind for span in spans.spans], [SpanKind.MISSING])
            self.assertEqual((spans.stored, spans.total, spans.times()), (0, None, (0, 0)))
            xml.etree.ElementTree.fromstring(svg(spans, "nothing"))

    def test_newest_page_an_island_and_what_lies_between(self):
        with tideline.Client(user_id="me") as client:
            client.connected()
            client.sync("c", tideline.SyncKind.LIVE)
            take(client, server)
            push(client, MESSAGES[100])
            client.send("c", "waits")
            spans = read_spans(client, "c")
            kinds = [span.kind for span in spans.spans]
            # Nothing proves that an island has no neighbours: it has a gap on either side.
            self.assertEqual(kinds[0], SpanKind.MISSING)
            self.assertIsNone(spans.spans[0].low_us)
            self.assertEqual(kinds[-1], SpanKind.TRUSTED)
            # The oldest second of the page may be cut: its message is not proven to be alone.
            self.assertEqual(kinds.count(SpanKind.MISSING), 3)
            stored = [span.count for span in spans.spans if span.kind is not SpanKind.MISSING]
            self.assertEqual((stored[0], sum(stored)), (1, 21))
            self.assertEqual((spans.pending, spans.stored, spans.total), (1, 21, 200))
            times = [time for span in spans.spans for time in (span.low_us, span.high_us)
                     if time is not None]
            self.assertEqual(times, sorted(times))

    def test_pages_of_the_cache_give_one_picture(self):
        """The seam of two reads is no gap, and a gap at the seam is one gap."""
        with tideline.Client(user_id="me") as client:
            client.connected()
            client.sync("c", tideline.SyncKind.LIVE)
            take(client, server)
            for row in MESSAGES[100:140:2]:
                push(client, row)
            whole = read_spans(client, "c")
            for size in (1, 2, 3, 7):
                with unittest.mock.patch("tideline.spans._PAGE", size):
                    self.assertEqual(read_spans(client, "c"), whole)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            file, key = pathlib.Path(folder, "a.tideline"), pathlib.Path(folder, "key")
            key.write_bytes(KEY)
            with tideline.Client(file, KEY, user_id="me") as client:
                client.connected()
                client.sync("c", tideline.SyncKind.LIVE)
                take(client, server)
            out = io.StringIO()
            arguments = ["spans", os.fspath(file), os.fspath(key), "me", "c"]
            with contextlib.redirect_stdout(out), warnings.catch_warnings(), \
                    unittest.mock.patch.object(sys, "argv", arguments):
                warnings.simplefilter("ignore", RuntimeWarning)
                runpy.run_module("tideline.spans", run_name="__main__")
            picture = xml.etree.ElementTree.fromstring(out.getvalue())
            texts = "".join(picture.itertext())
            self.assertIn("20 stored of 200 on the server", texts)
            self.assertIn("missing: 2 gaps", texts)
            self.assertNotIn(folder, out.getvalue())

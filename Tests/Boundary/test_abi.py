#!/usr/bin/env python3
"""The boundary from Python, through the package a Python host uses.

The last line sums what ran.
"""

import contextlib
import ctypes
import gc
import io
import json
import os
import pathlib
import re
import runpy
import selectors
import sys
import tempfile
import threading
import unittest
import unittest.mock
import weakref

import tideline
from tideline import _library as c

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEY = bytes(range(32))


def message(number, **more):
    return {"message_id": f"m{number}", "conversation_id": "c", "sender_id": "you",
            "created_at": f"2024-05-01T10:00:{number:02}", "payload": f"zpráva {number} 你好",
            "read_by": [], **more}


def answer(frame, messages):
    """What a server with these messages says to a request."""
    request = json.loads(frame.bytes)
    data = {}
    if request["type"] == "get_messages":
        chosen = [m for m in messages if m["created_at"] > request.get("after_ts", "")]
        chosen = chosen[:len(chosen) - request["offset"]] if request["offset"] else chosen
        data = {"messages": chosen, "total_count": len(messages)}
    elif request["type"] == "get_deleted_since":
        data = {"message_ids": []}
    return json.dumps({"type": request["type"], "request_id": request["request_id"],
                       "status": "ok", "data": data}, ensure_ascii=False)


def take(client, server):
    """Answers by a function of the request until there is nothing more to send: it gives `data`,
    an error as a pair of code and text, or None for no answer. Gives the requests."""
    requests = []
    while (frame := client.next_frame()) is not None:
        client.frame_sent(frame.id)
        request = json.loads(frame.bytes)
        requests.append(request)
        data = server(request)
        if data is None:
            continue
        head = {"type": request["type"], "request_id": request["request_id"]}
        if isinstance(data, tuple):
            head |= {"status": "error", "error": {"code": data[0], "message": data[1]}}
        else:
            head |= {"status": "ok", "data": data}
        client.receive(json.dumps(head, ensure_ascii=False))
    return requests


class Server:
    """A server that takes what it is sent; what a test changes is a member."""

    def __init__(self):
        self.messages = []
        self.rooms = []
        self.answers = {}

    def __call__(self, request):
        kind = request["type"]
        if kind in self.answers:
            return self.answers.pop(kind)
        if kind == "get_messages":
            return {"messages": self.messages, "total_count": len(self.messages)}
        if kind == "get_deleted_since":
            return {"message_ids": []}
        if kind == "get_conversations":
            return {"conversations": self.rooms, "total_count": len(self.rooms)}
        if kind == "send_message":
            name = f"s{len(self.messages) + 1}"
            self.messages.append({
                "message_id": name, "conversation_id": request["conversation_id"],
                "sender_id": "me", "created_at": f"2024-05-01T11:00:{len(self.messages):02}",
                "payload": request["payload"], "client_id": request["client_id"]})
            return {"message": self.messages[-1]}
        return {}


IDEMPOTENT = tideline.Profile(capabilities=tideline.Capabilities.IDEMPOTENT_SEND)


def serve(client, messages):
    """Answers requests until there are none; gives how many there were."""
    requests = 0
    while (frame := client.next_frame()) is not None:
        requests += 1
        client.frame_sent(frame.id)
        client.receive(answer(frame, messages))
    return requests


class Layout(unittest.TestCase):
    def test_structs_are_those_of_c(self):
        """Sizes, offsets and constants equal those that a C compiler gave for the header."""
        text = (ROOT / "Scripts" / "abi" / "tideline.layout").read_text()
        names = {"tl_view": c.View, "tl_profile": c.Profile, "tl_sealed": c.Sealed,
                 "tl_opened": c.Opened, "tl_client_config": c.ClientConfig, "tl_frame": c.Frame,
                 "tl_state": c.State, "tl_sync_request": c.SyncRequest,
                 "tl_sync_status": c.SyncStatus, "tl_message": c.Message, "tl_gap": c.Gap,
                 "tl_coverage": c.Coverage, "tl_query": c.Query, "tl_change": c.Change,
                 "tl_stats": c.Stats, "tl_event": c.Event, "tl_entity": c.Entity,
                 "tl_text": c.Text, "tl_window_config": c.WindowConfig, "tl_load": c.Load,
                 "tl_op": c.Op, "tl_diff": c.Diff, "tl_window_status": c.WindowStatus,
                 "tl_unsealed": c.Unsealed, "tl_list_config": c.ListConfig,
                 "tl_conversation": c.Conversation, "tl_list_status": c.ListStatus,
                 "tl_send": c.Send, "tl_operation": c.Operation,
                 "tl_operation_query": c.OperationQuery}
        seen = set()
        for part in text.split("\nstruct ")[1:]:
            head, *fields = part.splitlines()
            name, _, size = head.split()
            seen.add(name)
            struct = names[name]
            self.assertEqual(ctypes.sizeof(struct), int(size), name)
            self.assertEqual(len(struct._fields_), len(fields), name)
            for line, (field, _) in zip(fields, struct._fields_):
                words = line.split()
                descriptor = getattr(struct, field)
                self.assertEqual(words[-1], field.rstrip("_"), name)
                self.assertEqual((descriptor.offset, descriptor.size),
                                 (int(words[0]), int(words[1])), f"{name}.{field}")
        self.assertEqual(seen, set(names))
        for constant, value in re.findall(r"^constant TL_(?:E_)?(\w+) = (-?\d+)$", text, re.M):
            if constant in tideline.Status.__members__:
                self.assertEqual(tideline.Status[constant], int(value))
        kinds = {"CHANGE": tideline.ChangeKind, "SYNC": tideline.SyncKind,
                 "MESSAGE": (tideline.MessageState, tideline.MessageFlags),
                 "OPERATION": tideline.OperationState, "WAIT": tideline.OperationWait,
                 "TYPING": tideline.Typing, "CONVERSATION": tideline.ConversationFlags,
                 "OP": tideline.OpKind, "AT": tideline.At, "LOAD": tideline.LoadKind,
                 "FROM": tideline.From, "STOP": tideline.Stop, "EVENT": tideline.EventKind,
                 "ENTITY": tideline.EntityKind, "ACTION": tideline.Action,
                 "WAITING": tideline.Waiting, "PHASE": tideline.Phase}
        values = {}
        for prefix, name, value in re.findall(r"^constant TL_([A-Z]+)_(\w+) = (\d+)$", text, re.M):
            values.setdefault(prefix, {})[name] = int(value)
        for prefix, enums in kinds.items():
            given = {}
            for kind in enums if isinstance(enums, tuple) else (enums,):
                given |= {member.name: member.value for member in kind}
            # These are of other enumerations, which are plain members of Python values.
            other = {"CHANGE": {"SILENT"}, "SYNC": {"WAITING", "RUNNING", "ENDED"},
                     "LOAD": {"PAST_GAPS"}}.get(prefix, set())
            self.assertEqual(given, {name: value for name, value in values[prefix].items()
                                     if name not in other}, prefix)

    def test_every_function_is_bound(self):
        header = (ROOT / "Include" / "tideline.h").read_text()
        declared = set(re.findall(r"\b(tl_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
        self.assertEqual(declared, set(c._FUNCTIONS))

    def test_status_names(self):
        for status in tideline.Status:
            name = c.library.tl_status_name(int(status)).decode()
            self.assertEqual(re.sub(r"^TL_(E_)?", "", name), status.name)


class Use(unittest.TestCase):
    def test_a_page_of_messages(self):
        messages = [message(n, extra={"n": n}) for n in range(1, 6)]
        with tideline.Client(user_id="me", account="personal") as client:
            sync = client.sync("c")
            self.assertIsNone(client.next_frame())
            client.connected()
            serve(client, messages)
            status = client.sync_status(sync)
            self.assertEqual((status.phase, status.result, status.inserted),
                             (tideline.SyncPhase.ENDED, tideline.Status.OK, 5))
            page = client.messages("c")
            self.assertEqual([m.id for m in page.messages], [f"m{n}" for n in range(1, 6)])
            self.assertEqual([m.json for m in page.messages],
                             [f"zpráva {n} 你好" for n in range(1, 6)])
            first = page.messages[0]
            self.assertEqual((first.sender, first.conversation, first.stamp, first.time_us),
                             ("you", "c", "2024-05-01T10:00:01", 1714557601000000))
            self.assertIsNone(first.reply_to)
            self.assertEqual(json.loads(first.rest), {"extra": {"n": 1}})
            self.assertEqual(page.coverage.known_count, 5)
            self.assertEqual(client.message("c", "m3").number, page.messages[2].number)
            changes = client.changes()
            self.assertEqual({change.conversation for change in changes.entries}, {"c"})
            self.assertEqual(client.changes(changes.entries[-1].seq).entries, ())
            self.assertEqual(client.stats().messages, 5)
            self.assertEqual(client.state().phase, tideline.Phase.UP_TO_DATE)
            backwards = client.messages("c", limit=2, descending=True)
            self.assertEqual([m.id for m in backwards.messages], ["m5", "m4"])

    def test_a_file_is_read_again_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.tideline")
            with tideline.Client(path, KEY, user_id="me") as client:
                client.sync("c")
                client.connected()
                serve(client, [message(n) for n in range(1, 4)])
            with tideline.Client(path, KEY, user_id="me", existing=True) as client:
                self.assertEqual(len(client.messages("c").messages), 3)
                self.assertIsNone(client.next_frame())
                with self.assertRaises(tideline.LockedError):
                    tideline.Client(path, KEY, user_id="me")
            with self.assertRaises(tideline.WrongKeyError):
                tideline.Client(path, bytes(32), user_id="me")
            with self.assertRaises(tideline.MismatchError):
                tideline.Client(path, KEY, user_id="somebody")
            for name in os.listdir(folder):
                data = pathlib.Path(folder, name).read_bytes()
                for text in ("zpráva", "你好", "m1", "2024-05-01"):
                    if len(text.encode()) > 3:
                        self.assertNotIn(text.encode(), data)
            client = tideline.Client(path, KEY, user_id="me")
            client.wipe()
            self.assertEqual(os.listdir(folder), [])

    def test_a_window_as_a_list(self):
        messages = [message(n % 60, message_id=f"m{n}", created_at=f"2024-05-01T10:{n:02}:00")
                    for n in range(50)]
        with tideline.Client(user_id="me") as client:
            client.connected()
            with client.window("c", count=10) as window:
                rows = tideline.Rows(window)
                for _ in range(5):
                    serve(client, messages)
                    rows.poll()
                self.assertEqual([m.id for m in rows.messages][-10:],
                                 [f"m{n}" for n in range(40, 50)])
                while window.before(10):
                    for _ in range(4):
                        serve(client, messages)
                        rows.poll()
                self.assertEqual([m.id for m in rows.messages], [m["message_id"] for m in messages])
                state = window.state()
                self.assertTrue(state.at_start and state.at_end)
                self.assertEqual((state.waiting, state.trouble, state.split_count),
                                 (tideline.Waiting.NOTHING, tideline.Status.OK, 0))
                self.assertEqual(window.find("m7"), 7)
                self.assertIsNone(window.find("nobody"))
                client.mark_read("c", ["m7"])
                diff = rows.poll()
                self.assertEqual([(op.kind, op.row) for op in diff.ops],
                                 [(tideline.OpKind.UPDATE, 7)])
                window.show(0, 10)
                window.trim(5, 10)
                rows.poll()
                self.assertEqual(len(rows.messages), 10)
            with self.assertRaises(tideline.ClosedError):
                window.poll()
            with self.assertRaises(tideline.UnsupportedError):
                client.window("c", tideline.At.MESSAGE, id="nobody")

    def test_events_and_entities(self):
        def update(ref, entity, *items, **more):
            return json.dumps({"type": "update", "payload": {
                "ref": ref, "action": "new", **more,
                "payload": {"entity": entity, "items": items}}})

        with tideline.Client(user_id="me") as client:
            client.connected()
            client.receive(update("r1", "sticker", {"n": 1}, silent=True))
            client.receive(update("r2", "member", {"conversation_id": "c", "user_id": "u"}))
            event, = client.events().entries
            self.assertEqual((event.kind, event.entity, event.silent),
                             (tideline.EventKind.UNKNOWN, "sticker", True))
            self.assertEqual(client.events(event.seq).entries, ())
            member, = client.entities(tideline.EntityKind.MEMBER, "c")
            self.assertEqual((member.id, member.conversation), ("u", "c"))
            self.assertEqual(json.loads(member.body)["user_id"], "u")
            self.assertEqual(client.entities(tideline.EntityKind.PROFILE), ())
            self.assertEqual(client.state().replies_owed, 2)
            client.mark_listened("c", ["nobody"])

    def test_merging(self):
        base = [message(1), message(2, reactions={"+": ["a"]}, read_by=[{"user_id": "a"}])]
        more = [message(2, payload="new", version=2, read_by=[{"user_id": "b"}]), message(3)]
        merged = json.loads(tideline.merge_messages(json.dumps(base), json.dumps(more)))
        self.assertEqual([m["message_id"] for m in merged], ["m1", "m2", "m3"])
        self.assertEqual((merged[1]["payload"], merged[1]["version"]), ("new", 2))
        self.assertEqual({r["user_id"] for r in merged[1]["read_by"]}, {"a", "b"})
        deltas = [
            {"type": "message_deleted", "conversation_id": "c", "message_ids": ["m1"]},
            {"type": "message_reacted", "conversation_id": "c", "message_id": "m2",
             "reactions": {"x": ["b"]}},
            {"type": "message_pinned", "conversation_id": "c", "message_id": "m2"},
            {"type": "message_new", "conversation_id": "c", "message": message(9)}]
        merged = json.loads(tideline.merge_deltas(json.dumps(base), json.dumps(deltas)))
        self.assertEqual([m["message_id"] for m in merged], ["m2", "m9"])
        self.assertEqual((merged[0]["reactions"], merged[0]["pinned"]), ({"x": ["b"]}, True))
        with self.assertRaises(tideline.FrameError):
            tideline.merge_messages("{}", "[]")

    def test_bad_frames(self):
        with tideline.Client(user_id="me") as client:
            client.connected()
            for bad in (b"", b"{", b'{"type":', b"[]", b'{"type":"\xff"}'):
                with self.assertRaises(tideline.FrameError):
                    client.receive(bad)
            with self.assertRaises(tideline.TooLargeError):
                client.receive(b" " * (64 << 20))
            self.assertEqual(client.receive('{"type":"weather"}'), tideline.Status.IGNORED)
            self.assertEqual(client.stats().frames_bad, 6)
            client.disconnected()
            with self.assertRaises(tideline.OfflineError) as raised:
                client.receive('{"type":"weather"}')
            self.assertTrue(raised.exception.is_transient)

    def test_arguments(self):
        for arguments in ({"key": KEY}, {"user_id": ""}, {"user_id": "x" * 513},
                          {"requests_max": 65}, {"existing": True},
                          {"profile": tideline.Profile(page_limit=1001)}):
            with self.assertRaises(ValueError):
                tideline.Client(**{"user_id": "me", **arguments})
        with tideline.Client(user_id="me", profile=tideline.Profile(
                truncates=tideline.Truncates.OLDEST, page_size_varies=True)) as client:
            with self.assertRaises(tideline.InvalidError):
                client.messages("c", limit=10001)
            with self.assertRaises(LookupError):
                client.message("c", "nobody")
            with self.assertRaises(tideline.NotFoundError):
                client.cancel(99)

    def test_closed(self):
        client = tideline.Client(user_id="me")
        client.close()
        client.close()
        for call in (client.connected, client.state, client.next_frame, client.stats,
                     lambda: client.sync("c"), lambda: client.messages("c")):
            with self.assertRaises(tideline.ClosedError):
                call()

    def test_hooks(self):
        seen, lines = [], []

        def open_payload(sealed):
            seen.append(sealed)
            text = json.loads(sealed.payload)
            if text.startswith("zpráva 1"):
                return b"first"
            if text.startswith("zpráva 2"):
                return None
            if text.startswith("zpráva 3"):
                return tideline.Plain(b"joined", event=True)
            if text.startswith("zpráva 4"):
                return tideline.Plain(b"never shown", control=True)
            raise RuntimeError("a defect of the host")

        client = tideline.Client(user_id="me", open=open_payload, clock=lambda: 5,
                                 log=lambda level, text: lines.append(text))
        client.sync("c")
        client.connected()
        with self.assertLogs("tideline", "ERROR"):
            serve(client, [message(n) for n in range(1, 6)])
        rows = {row.id: row for row in client.messages("c").messages}
        self.assertEqual(sorted(rows), ["m1", "m2", "m3", "m5"])
        self.assertEqual(rows["m1"].payload, b"first")
        self.assertIn(tideline.MessageFlags.SEALED, rows["m2"].flags)
        self.assertIn(tideline.MessageFlags.EVENT, rows["m3"].flags)
        self.assertIn(tideline.MessageFlags.SEALED, rows["m5"].flags)
        self.assertEqual((seen[0].conversation, seen[0].sender), ("c", "you"))
        self.assertGreaterEqual(client.stats().open_failures, 1)

    def test_the_descriptor_wakes(self):
        with tideline.Client(user_id="me") as client, selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ)
            client.next_frame()
            self.assertEqual(selector.select(0), [])
            client.connected()
            client.sync("c")
            self.assertEqual(len(selector.select(10)), 1)

    def test_threads(self):
        client = tideline.Client(user_id="me")
        client.connected()
        trouble = []

        def work(start):
            try:
                for n in range(start, start + 50):
                    client.receive(json.dumps({
                        "type": "message_new", "conversation_id": "c",
                        "message": {**message(n % 60), "message_id": f"t{n}"}}))
                    client.messages("c", limit=20)
                    client.changes(0, 10)
            except Exception as error:
                trouble.append(error)

        threads = [threading.Thread(target=work, args=(50 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(trouble, [])
        self.assertEqual(client.stats().messages, 400)

    def test_a_client_is_collected(self):
        client = tideline.Client(user_id="me", open=lambda sealed: b"x")
        gone = weakref.ref(client)
        del client
        gc.collect()
        self.assertIsNone(gone())

    def test_accounts_and_version(self):
        self.assertEqual(tideline.frame_account('{"account":"personal"}'), "personal")
        self.assertIsNone(tideline.frame_account('{"type":"x"}'))
        self.assertEqual(tideline.version(), "0.1.0")
        self.assertEqual(c.library.tl_key_bytes(), tideline.KEY_BYTES)


class Acts(unittest.TestCase):
    def test_sent_offline_and_after_a_restart(self):
        server = Server()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.tideline")
            with tideline.Client(path, KEY, user_id="me", profile=IDEMPOTENT) as client:
                first = client.send("c", {"text": "你好"}, metadata={"n": 1})
                second = client.perform({"type": "send_message", "conversation_id": "c",
                                         "payload": "zpráva", "client_id": "mine-2"})
                self.assertLess(first.operation, second.operation)
                self.assertEqual(client.state().operations_open, 2)
            with tideline.Client(path, KEY, user_id="me", profile=IDEMPOTENT) as client:
                rows = client.messages("c").messages
                self.assertEqual([row.number for row in rows], [first.number, second.number])
                self.assertEqual([row.state for row in rows], [tideline.MessageState.QUEUED] * 2)
                self.assertEqual([row.json for row in rows], [{"text": "你好"}, "zpráva"])
                self.assertEqual((rows[1].id, rows[1].time_us, rows[1].operation),
                                 ("mine-2", 0, second.operation))
                one, two = client.operations("c", open_only=True)
                self.assertEqual((one.id, one.verb, one.waiting, one.retry_ms),
                                 (first.operation, "send_message",
                                  tideline.OperationWait.CONNECTION, None))
                self.assertEqual(json.loads(one.request)["metadata"], {"n": 1})
                self.assertEqual(client.operations(after=one.id), (two,))
                client.connected()
                sent = [r for r in take(client, server) if r["type"] == "send_message"]
                self.assertEqual([r["payload"] for r in sent], [{"text": "你好"}, "zpráva"])
                rows = client.messages("c").messages
                self.assertEqual([(row.number, row.id, row.state, row.operation) for row in rows],
                                 [(first.number, "s1", tideline.MessageState.CONFIRMED, None),
                                  (second.number, "s2", tideline.MessageState.CONFIRMED, None)])
                done = client.operation(second.operation)
                self.assertEqual(done.state, tideline.OperationState.SENT)
                self.assertEqual(done.json["message"]["message_id"], "s2")
                self.assertEqual(client.message("c", "mine-2").id, "s2")
                self.assertEqual(client.operations(open_only=True), ())

    def test_remote_and_local_updates_interleaved(self):
        """The example checks each step itself: one state change, two inserts, the same row."""
        out = io.StringIO()
        example = ROOT / "examples" / "python" / "examples" / "interleaved.py"
        with contextlib.redirect_stdout(out), unittest.mock.patch("sys.argv", [str(example)]):
            runpy.run_path(str(example), run_name="__main__")
        self.assertEqual(re.findall(r"difference: (\d+ \w+|none)", out.getvalue()),
                         ["2 inserted", "none", "1 inserted", "1 changed", "2 inserted"])

    def test_the_user_decides(self):
        server = Server()
        with tideline.Client(user_id="me", profile=IDEMPOTENT) as client:
            client.connected()
            take(client, server)
            server.answers["send_message"] = ("too_large", "over 1 MB")
            sent = client.send("c", "A")
            client.send("c", "B")
            take(client, server)
            refused = client.operation(sent.operation)
            self.assertEqual((refused.state, refused.error_code, refused.error_text),
                             (tideline.OperationState.REFUSED, "too_large", "over 1 MB"))
            self.assertEqual([m["payload"] for m in server.messages], ["B"])
            self.assertTrue(client.operation_edit(sent.operation, {"payload": "a"}))
            take(client, server)
            self.assertEqual([m["payload"] for m in server.messages], ["B", "a"])
            for call in (client.operation_cancel, client.operation_retry):
                self.assertFalse(call(sent.operation))
            client.disconnected()
            later = client.send("c", "C")
            edit = client.perform('{"type":"edit_message","conversation_id":"c",'
                                  '"message_id":"s1","payload":"b"}')
            shown = {row.id: row for row in client.messages("c").messages}
            self.assertEqual(shown["s1"].json, "b")
            self.assertTrue(client.operation_cancel(later.operation))
            self.assertTrue(client.operation_cancel(edit.operation))
            shown = {row.id: row.json for row in client.messages("c").messages}
            self.assertEqual(shown, {"s1": "B", "s2": "a"})
            with self.assertRaises(tideline.NotFoundError):
                client.operation(later.operation)
            kinds = {change.kind for change in client.changes().entries}
            self.assertIn(tideline.ChangeKind.OPERATIONS, kinds)

    def test_what_is_no_request(self):
        with tideline.Client(user_id="me") as client:
            for bad in ("", "{", "[]", {}, {"type": "dance"}, {"type": "send_message"},
                        {"type": "send_message", "conversation_id": "c"}):
                with self.assertRaises(tideline.InvalidError):
                    client.perform(bad)
            with self.assertRaises(tideline.TooLargeError):
                client.perform(b" " * (1 << 20) + b"{}")
            for bad in (float("nan"), "\ud800"):
                with self.assertRaises(ValueError):
                    client.send("c", bad)
            with self.assertRaises(tideline.InvalidError):
                client.send("c", b"no JSON")
            with self.assertRaises(tideline.InvalidError):
                client.send("c", 1, attachment=[])
            for call in (client.operation_retry, client.operation_cancel,
                         client.operation_uploaded, client.operation_upload_failed,
                         lambda id: client.operation_edit(id, {"payload": 1}),
                         lambda id: client.operation_progress(id, 1)):
                with self.assertRaises(tideline.NotFoundError):
                    call(99)
            self.assertEqual(client.operations(), ())
            self.assertEqual(client.perform({"type": "typing", "conversation_id": "c",
                                             "event": "begin"}), tideline.Performed(0, None))
            self.assertFalse(client.typing("c"))

    def test_seal(self):
        seen, keys = [], {}

        def seal(unsealed):
            seen.append(unsealed)
            if keys.get("broken"):
                raise RuntimeError("a defect of the host")
            return keys.get("answer")

        server = Server()
        client = tideline.Client(user_id="me", profile=IDEMPOTENT, seal=seal,
                                 open=lambda sealed: None)
        client.connected()
        sent = client.send("c", {"text": "secret"}, client_id="x1")
        take(client, server)
        self.assertEqual((seen[0].conversation, seen[0].client_id, seen[0].json),
                         ("c", "x1", {"text": "secret"}))
        self.assertEqual(client.operation(sent.operation).waiting, tideline.OperationWait.SEAL)
        self.assertEqual((server.messages, client.reopen_payloads()), ([], 0))
        keys["answer"] = '"sealed"'
        self.assertEqual(client.reopen_payloads("c"), 1)
        take(client, server)
        self.assertEqual(server.messages[0]["payload"], "sealed")
        self.assertEqual(client.messages("c").messages[0].json, {"text": "secret"})
        keys["broken"] = True
        with self.assertLogs("tideline", "ERROR"), self.assertRaises(tideline.RefusedError):
            client.send("c", "again")
        keys["broken"], keys["answer"] = False, b"no JSON"
        with self.assertRaises(tideline.RefusedError):
            client.send("c", "again")
        self.assertEqual(len(client.operations()), 1)

    def test_uploads(self):
        server = Server()
        with tideline.Client(user_id="me", profile=IDEMPOTENT) as client:
            client.connected()
            sent = client.send("c", "a picture", attachment={"name": "a.jpg"}, upload=True)
            take(client, server)
            self.assertEqual(client.operation(sent.operation).waiting,
                             tideline.OperationWait.UPLOAD)
            self.assertTrue(client.operation_progress(sent.operation, 250))
            self.assertEqual(client.messages("c").messages[0].upload_permille, 250)
            self.assertTrue(client.operation_upload_failed(sent.operation, "no route"))
            self.assertEqual(client.operation(sent.operation).error_text, "no route")
            self.assertTrue(client.operation_retry(sent.operation))
            self.assertTrue(client.operation_uploaded(sent.operation, {"url": "u1"}))
            request, = [r for r in take(client, server) if r["type"] == "send_message"]
            self.assertEqual(request["attachment"], {"url": "u1"})
            self.assertFalse(client.operation_uploaded(sent.operation))

    def test_the_list_of_conversations(self):
        now = [1000]
        server = Server()
        server.rooms = [
            {"conversation_id": name, "title": f"Room {name}", "participant_ids": ["me", "you"],
             "created_at": "2024-05-01T09:00:00", "last_message": {
                 "message_id": f"{name}1", "conversation_id": name, "sender_id": "you",
                 "created_at": f"2024-05-01T10:00:0{n}", "payload": "hi"}}
            for n, name in enumerate("abc")]
        with tideline.Client(user_id="me", profile=IDEMPOTENT, clock=lambda: now[0]) as client:
            client.connected()
            with client.conversation_list() as watched:
                rows = tideline.Rows(watched)
                take(client, server)
                rows.poll()
                self.assertEqual([row.id for row in rows.conversations], ["c", "b", "a"])
                first = rows.conversations[0]
                self.assertEqual((first.title, first.member_count, first.last.id, first.draft),
                                 ("Room c", 2, "c1", b""))
                self.assertEqual(first.json["title"], "Room c")
                state = watched.state()
                self.assertTrue(state.whole)
                self.assertEqual((state.row_count, state.trouble), (3, tideline.Status.OK))
                number = rows.conversations[2].number
                client.receive(json.dumps({
                    "type": "message_new", "conversation_id": "a", "message": {
                        "message_id": "a2", "sender_id": "you", "payload": "zpráva",
                        "created_at": "2024-05-01T10:30:00"}}))
                client.receive('{"type":"typing","conversation_id":"a","user_id":"you",'
                               '"event":"begin","at":"2024-05-01T10:31:00"}')
                client.draft("a", "rozepsáno", reply_to="a1")
                rows.poll()
                top = rows.conversations[0]
                self.assertEqual((top.number, top.id, top.last.json), (number, "a", "zpráva"))
                self.assertEqual((top.typing, top.draft.decode(), top.draft_reply_to),
                                 (("you",), "rozepsáno", "a1"))
                self.assertGreaterEqual(top.unread, 1)
                self.assertEqual(watched.find("b"), 2)
                self.assertIsNone(watched.find("nobody"))
                now[0] += 60_000
                client.advance()
                client.draft("a", "")
                rows.poll()
                top = rows.conversations[0]
                self.assertEqual((top.typing, top.draft), ((), b""))
                self.assertEqual([row.id for row in client.conversations()], ["a", "c", "b"])
                self.assertEqual([row.id for row in client.conversations(1, 1)], ["c"])
                self.assertEqual(client.conversation("b").title, "Room b")
                with self.assertRaises(tideline.NotFoundError):
                    client.conversation("nobody")
            with self.assertRaises(tideline.ClosedError):
                watched.poll()

    def test_threads(self):
        client = tideline.Client(user_id="me", seal=lambda unsealed: unsealed.payload)
        trouble, made = [], []

        def work(start):
            try:
                for n in range(start, start + 25):
                    sent = client.send(f"r{n % 5}", n)
                    made.append(sent.operation)
                    client.draft(f"r{n % 5}", str(n))
                    client.operations(limit=10)
                    if n % 2:
                        client.operation_cancel(sent.operation)
            except Exception as error:
                trouble.append(error)

        threads = [threading.Thread(target=work, args=(25 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(trouble, [])
        self.assertEqual(len(set(made)), 100)
        self.assertEqual(client.state().operations_open, 50)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    failed = len(result.failures) + len(result.errors)
    print(f"python boundary: {result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)

"""The boundary from Python, through the package a Python host uses."""

import ctypes
import dataclasses
import gc
import json
import os
import pathlib
import pickle
import re
import selectors
import tempfile
import threading
import unittest
import weakref

import tideline
from tideline import _library as c

from support import KEY, ROOT, answer, message, serve


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
                 "tl_entity_query": c.EntityQuery,
                 "tl_quarantined": c.Quarantined,
                 "tl_text": c.Text, "tl_window_config": c.WindowConfig, "tl_load": c.Load,
                 "tl_op": c.Op, "tl_diff": c.Diff, "tl_window_status": c.WindowStatus,
                 "tl_unsealed": c.Unsealed, "tl_list_config": c.ListConfig,
                 "tl_conversation": c.Conversation, "tl_list_status": c.ListStatus,
                 "tl_send": c.Send, "tl_draft": c.Draft, "tl_operation": c.Operation,
                 "tl_operation_query": c.OperationQuery,
                 "tl_fold": c.Fold, "tl_items_config": c.ItemsConfig, "tl_item": c.Item,
                 "tl_items_status": c.ItemsStatus, "tl_progress": c.Progress,
                 "tl_search": c.Search, "tl_mark": c.Mark, "tl_hit": c.Hit,
                 "tl_searched": c.Searched, "tl_budget": c.Budget, "tl_room": c.Room,
                 "tl_viewport_config": c.ViewportConfig, "tl_placed": c.Placed,
                 "tl_layout": c.Layout, "tl_target": c.Target,
                 "tl_viewport_status": c.ViewportStatus,
                 "tl_stored": c.Stored, "tl_storage": c.Storage,
                 "tl_policy_question": c.PolicyQuestion, "tl_policy_choice": c.PolicyChoice,
                 "tl_import": c.Import, "tl_imported": c.Imported, "tl_unsearched": c.Unsearched,
                 "tl_export": c.Export, "tl_bad_line": c.BadLine, "tl_key": c.Key,
                 "tl_key_slot": c.KeySlot, "tl_receipt": c.Receipt,
                 "tl_checked": c.Checked}
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
        kinds = {"KEY": tideline.KeyKind, "CHANGE": tideline.ChangeKind, "SYNC": tideline.SyncKind,
                 "MESSAGE": (tideline.MessageState, tideline.MessageFlags),
                 "OPERATION": tideline.OperationState, "WAIT": tideline.OperationWait,
                 "TYPING": tideline.Typing, "CONVERSATION": tideline.ConversationFlags,
                 "OP": tideline.OpKind, "AT": tideline.At, "LOAD": tideline.LoadKind,
                 "FROM": tideline.From, "STOP": tideline.Stop, "EVENT": tideline.EventKind,
                 "ENTITY": tideline.EntityKind, "ORIGIN": tideline.Origin,
                 "EDGE": tideline.Edge,
                 "ACTION": tideline.Action, "WAITING": tideline.Waiting, "PHASE": tideline.Phase}
        values = {}
        for prefix, name, value in re.findall(r"^constant TL_([A-Z]+)_(\w+) = (\d+)$", text, re.M):
            values.setdefault(prefix, {})[name] = int(value)
        for prefix, enums in kinds.items():
            given = {}
            for kind in enums if isinstance(enums, tuple) else (enums,):
                given |= {member.name: member.value for member in kind}
            # These are of other enumerations, which are plain members of Python values.
            other = {"CHANGE": {"SILENT", "NOTIFY"}, "KEY": {"BYTES"},
                     "SYNC": {"WAITING", "RUNNING", "ENDED", "MARK_READ"},
                     "LOAD": {"PAST_GAPS"}}.get(prefix, set())
            self.assertEqual(given, {name: value for name, value in values[prefix].items()
                                     if name not in other}, prefix)

    def test_no_hook_takes_a_struct_by_value(self):
        """Many FFIs can call with a struct, but cannot be called with one."""
        text = (ROOT / "Scripts" / "abi" / "tideline.layout").read_text()
        structs = set(re.findall(r"^struct (\w+) ", text, re.M))
        hooks = re.findall(r"^typedef (tl_\w+_hook) = (.*) \(\*\)\((.*)\)$", text, re.M)
        self.assertEqual(len(hooks), 7)
        for name, result, parameters in hooks:
            for kind in [result, *parameters.split(", ")]:
                self.assertNotIn(kind.removeprefix("const "), structs, name)

    def test_every_function_is_bound(self):
        header = (ROOT / "Include" / "tideline.h").read_text()
        declared = set(re.findall(r"\b(tl_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
        self.assertEqual(declared, set(c.FUNCTIONS))

    def test_status_names(self):
        for status in tideline.Status:
            name = c.library.tl_status_name(int(status)).decode()
            self.assertEqual(re.sub(r"^TL_(E_)?", "", name), status.name)


class Use(unittest.TestCase):
    def check_values(self, messages, again):
        """Messages are values, whatever was read of them before."""
        first = messages[0]
        self.assertEqual(messages, again)
        self.assertEqual(hash(first), hash(again[0]))
        self.assertNotEqual(first, messages[1])
        copy = pickle.loads(pickle.dumps(again[0]))
        self.assertEqual((copy, hash(copy), repr(copy)), (first, hash(first), repr(first)))
        self.assertEqual(first, copy)
        other = dataclasses.replace(again[2], id="other")
        self.assertEqual((other.id, other.number), ("other", messages[2].number))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            first.id = "other"

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
            self.check_values(page.messages, client.messages("c").messages)
            for value in (page, page.coverage):
                self.assertEqual(value, dataclasses.replace(value))
                self.assertEqual(list(vars(value)), [f.name for f in dataclasses.fields(value)])
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

    def test_the_pinned_messages_of_a_conversation(self):
        messages = [message(n, pinned=n % 20 == 0) for n in range(60)]
        with tideline.Client(user_id="me") as client:
            client.connected()
            client.sync("c", tideline.SyncKind.OLDER, want=60)
            serve(client, messages)
            self.assertEqual([m.id for m in client.messages("c", pinned=True).messages],
                             ["m0", "m20", "m40"])
            for name, is_pinned in (("m31", True), ("m20", False)):
                kind = "message_pinned" if is_pinned else "message_unpinned"
                client.receive(json.dumps(
                    {"type": kind, "conversation_id": "c", "message_id": name}))
            self.assertEqual([m.id for m in client.messages("c", pinned=True).messages],
                             ["m0", "m31", "m40"])

    def test_requests_in_flight_are_bounded(self):
        for bound, allowed in ((0, 4), (1, 1), (7, 7)):
            with tideline.Client(user_id="me", requests_max=bound) as client:
                client.connected()
                for room in range(20):
                    client.sync(f"c{room}")
                waiting, most, answered = [], 0, set()
                while True:
                    while (frame := client.next_frame()) is not None:
                        client.frame_sent(frame.id)
                        waiting.append(frame)
                    most = max(most, len(waiting))
                    if not waiting:
                        break
                    frame = waiting.pop()
                    answered.add(json.loads(frame.bytes)["conversation_id"])
                    client.receive(answer(frame, []))
                self.assertEqual(most, allowed)
                self.assertEqual(len(answered), 20)

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
            event, joined = client.events().entries
            self.assertEqual((event.kind, event.entity, event.silent, event.id),
                             (tideline.EventKind.UNKNOWN, "sticker", True, ""))
            self.assertEqual((joined.kind, joined.action, joined.id, joined.conversation),
                             (tideline.EventKind.MEMBER, tideline.Action.NEW, "u", "c"))
            self.assertEqual(client.events(joined.seq).entries, ())
            self.assertEqual({change.origin for change in client.changes().entries},
                             {tideline.Origin.PUSHED})
            member, = client.entities(tideline.EntityKind.MEMBER, "c")
            self.assertEqual(client.entities(tideline.EntityKind.MEMBER, "c", id="u"), (member,))
            self.assertEqual(client.entities(tideline.EntityKind.MEMBER, "c", after=member), ())
            self.assertEqual((member.id, member.conversation), ("u", "c"))
            self.assertEqual(json.loads(member.body)["user_id"], "u")
            self.assertEqual(client.entities(tideline.EntityKind.PROFILE), ())
            self.assertEqual(client.state().replies_owed, 2)
            client.mark_listened("c", ["nobody"])

    def test_what_may_be_notified_of(self):
        profile = tideline.Profile(unknown_frames=True)
        with tideline.Client(user_id="me", profile=profile) as client:
            client.connected()
            for index in (1, 1):
                client.receive(json.dumps({
                    "type": "message_new", "conversation_id": "c",
                    "message": message(index, moderated=True, client_id="k")}))
            first, *others = client.changes().entries
            self.assertEqual((first.notify, first.origin), (True, tideline.Origin.PUSHED))
            self.assertFalse(any(change.notify for change in others))
            row, = client.messages("c").messages
            self.assertIn(tideline.MessageFlags.MODERATED, row.flags)
            self.assertEqual((row.client_id, row.edited_us), (None, None))
            client.receive('{"type":"party"}')
            event, = client.events().entries
            self.assertEqual((event.kind, event.entity, event.body),
                             (tideline.EventKind.FRAME, "party", b'{"type":"party"}'))

    def test_what_was_set_aside_says_why_and_can_be_read(self):
        bad = json.dumps({**message(1), "created_at": "soon"})
        with tideline.Client(user_id="me") as client:
            client.connected()
            self.assertEqual(client.quarantined(), ())
            status = client.receive(
                f'{{"type":"message_new","conversation_id":"c","message":{bad}}}')
            self.assertEqual(status, tideline.Status.QUARANTINED)
            self.assertEqual(tideline.last_error(), "created_at is not a time")
            item, = client.quarantined("c")
            self.assertEqual((item.item.decode(), item.reason, item.conversation),
                             (bad, "created_at is not a time", "c"))
            self.assertEqual((item.size, item.cut), (len(bad), False))
            self.assertEqual(client.quarantined(after=item.seq), ())
            self.assertEqual(client.quarantined("d"), ())
            self.assertEqual(client.receive('{"type":"weather"}'), tideline.Status.IGNORED)
            self.assertEqual(tideline.last_error(), "type is not one that is known here")

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
            self.assertEqual(client.receive('{"type":"weather"}'), tideline.Status.IGNORED)

    def test_a_void_connection(self):
        now = [0]
        with tideline.Client(user_id="me", clock=lambda: now[0]) as client:
            client.connected()
            client.sync("c")
            for _ in client.frames():
                now[0] += 100_000
            client.advance()
            self.assertTrue(client.state().reconnect_wanted)
            with self.assertRaises(tideline.OfflineError) as raised:
                client.receive('{"type":"weather"}')
            self.assertTrue(raised.exception.is_transient)

    def test_all_conversations_and_what_is_dropped(self):
        with tideline.Client(user_id="me", catch_up_all=True) as client:
            client.connected()
            client.sync("c")
            serve(client, [message(n) for n in range(1, 6)])
            client.connection_dead()
            client.drop("c", "m3")
            self.assertEqual([m.id for m in client.messages("c").messages],
                             ["m1", "m2", "m4", "m5"])
            all_of_them = client.sync("", tideline.SyncKind.ALL)
            serve(client, [message(n) for n in range(1, 6)])
            status = client.sync_status(all_of_them)
            self.assertEqual((status.phase, status.result, status.done, status.total),
                             (tideline.SyncPhase.ENDED, tideline.Status.OK, 1, 1))
            client.drop("c")
            self.assertEqual(client.messages("c").messages, ())
            with self.assertRaises(tideline.NotFoundError):
                client.drop("nowhere")

    def test_what_was_on_a_screen_is_read(self):
        now = [0]
        with tideline.Client(user_id="me", auto_mark_read=True, seen_ms=500,
                             clock=lambda: now[0]) as client:
            client.connected()
            client.sync("c")
            serve(client, [message(n) for n in range(1, 6)])
            window = client.window("c", preload=True)
            window.poll()
            window.show(0, 3)
            self.assertEqual(client.advance(), 500)
            now[0] = 500
            client.advance()
            self.assertEqual(client.state().reads_pending, 3)
            client.sync("c", mark_read=True)
            window.close()

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
        self.assertEqual(tideline.version(), "0.2.0")
        self.assertEqual(c.library.tl_key_bytes(), tideline.KEY_BYTES)

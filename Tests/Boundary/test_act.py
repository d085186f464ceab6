"""What the user does, and the list of conversations, from Python."""

import contextlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
import threading
import unittest
import unittest.mock

import tideline

from support import IDEMPOTENT, KEY, ROOT, Server, answer, message, take


class Acts(unittest.TestCase):
    def test_a_new_login_looks_before_it_sends_again(self):
        server = Server()
        profile = tideline.Profile(
            capabilities=tideline.Capabilities.IDEMPOTENT_SEND,
            idempotency_scope=tideline.IdempotencyScope.DEVICE)
        with self.assertRaises(tideline.InvalidError):
            tideline.Client(user_id="me", profile=profile)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.tideline")
            now = [1_000]

            def login(device):
                return tideline.Client(
                    path, KEY, user_id="me", profile=profile, device=device, clock=lambda: now[0])

            with login("first") as client:
                client.connected()
                client.send("c", "hello", client_id="mine")
                take(client, lambda request: server(request) and None)
            asked = []

            def heard(request):
                asked.append(request["type"])
                return server(request)

            with login("second") as client:
                client.connected()
                take(client, heard)
                self.assertEqual(asked, [])
                now[0] += 60_000
                client.advance()
                take(client, heard)
                self.assertFalse(client.operations("c", open_only=True))
                self.assertNotIn("send_message", asked)
                self.assertEqual(len(client.messages("c").messages), 1)

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

    def test_every_verb_goes_out_and_is_answered(self):
        room = {"conversation_id": "c", "participant_ids": ["me", "you"], "admin_ids": ["me"],
                "created_at": "2024-05-01T09:00:00", "title": "Room"}
        named = {"conversation_id": "c"}
        one = {**named, "message_id": "m1"}
        asked = [
            {"type": "get_conversations", "include_last_message": True},
            {"type": "get_conversation", **named}, {"type": "get_receipts", **one},
            {"type": "get_unread_count", **named}, {"type": "get_total_unread_count"},
            {"type": "get_user_channel"}, {"type": "delete_user_channels"},
            {"type": "subscribe", **named}, {"type": "unsubscribe", **named},
            {"type": "save_conversation", **named, "title": "Other"},
            {"type": "create_conversation", "participant_ids": ["you"], "direct": True},
            {"type": "add_participants", **named, "user_ids": ["z"]},
            {"type": "remove_participants", **named, "user_ids": ["z"]},
            {"type": "add_admins", **named, "user_ids": ["you"]},
            {"type": "remove_admins", **named, "user_ids": ["you"]},
            {"type": "send_message", **named, "payload": "x"},
            {"type": "edit_message", **one, "payload": "y"},
            {"type": "react_message", **one, "reaction": "+"},
            {"type": "unreact_message", **one, "reaction": "+"},
            {"type": "pin_message", **one}, {"type": "unpin_message", **one},
            {"type": "mark_last_read", **one}, {"type": "delete_message", **one},
            {"type": "leave_conversation", **named}, {"type": "delete_conversation", **named}]
        answers = {
            "get_receipts": {"receipts": []}, "get_unread_count": {"message_count": 1},
            "get_total_unread_count": {"message_count": 1, "conversation_count": 1},
            "get_user_channel": {"channel": {"name": "me"}}}
        server = Server()
        server.rooms = [room]
        server.messages = [message(1)]
        with tideline.Client(user_id="me", profile=IDEMPOTENT) as client:
            client.connected()
            client.sync("c")
            take(client, server)
            for request in asked:
                kind = request["type"]
                if kind in answers:
                    server.answers[kind] = answers[kind]
                elif kind not in ("get_conversations", "send_message"):
                    of_message = kind.endswith("_message")
                    server.answers[kind] = {"message": message(1)} if of_message else {
                        "conversation": room}
                made = client.perform(request)
                sent = [given for given in take(client, server) if given["type"] == kind]
                self.assertEqual(len(sent), 1, kind)
                members = {name: sent[0].get(name) for name in request if name != "client_id"}
                self.assertEqual(members, request)
                self.assertEqual(client.operation(made.operation).state,
                                 tideline.OperationState.SENT, kind)
            self.assertEqual(client.state().operations_open, 0)

    def test_the_list_is_synced_by_itself(self):
        server = Server()
        server.rooms = [{"conversation_id": "c", "participant_ids": ["me"], "title": "Room",
                         "created_at": "2024-05-01T09:00:00"}]
        with tideline.Client(user_id="me") as client:
            client.connected()
            sync = client.sync("", tideline.SyncKind.CONVERSATIONS)
            self.assertEqual([r["type"] for r in take(client, server)], ["get_conversations"])
            self.assertEqual(client.sync_status(sync).result, tideline.Status.OK)
            self.assertEqual([room.id for room in client.conversations()], ["c"])

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

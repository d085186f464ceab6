"""The adapter of docs/guide/log-adapter.md, to a log: the probe finds nothing wrong with it, a
client that is carried by it has what the server has, and each fault planted in it is named."""

import json
import re
import unittest
from urllib.error import HTTPError

import tideline
from pier import Pier
from test_adapter import ROOT, module
from tideline import Capabilities, IdempotencyScope
from tideline.probe import Level, Setup, differences, fit, probe

log_adapter = module("log_adapter.py")
ROOM = "quay"


class Near(log_adapter.Adapter):
    """The adapter in the process of its server, with a fault. Nothing is waited for."""

    def __init__(self, pier, user="eva", fault="", login="first"):
        self.pier, self.fault, self.login = pier, fault, login
        super().__init__(pier.base, user)
        self.count = 0

    def http(self, method, path, body=None):
        if body and body.get("key"):
            scope = {"known by a login": self.login, "known on a connection": str(id(self))}
            body = {**body, "key": body["key"] + scope.get(self.fault, "")}
        path = path.partition("&wait=")[0] + "&wait=0" if "&wait=" in path else path
        status, value = self.pier.handle(method, path, self.user, body)
        if status != 200:
            raise HTTPError(path, status, "", None, None)
        return json.loads(json.dumps(value))

    def send(self, frame):
        want = json.loads(frame)
        if want["type"] == "hello":
            self.user, self.login = want["user"], want["login"]
        elif not (self.has("marks unanswered") and want["type"] == "mark_read"):
            super().send(frame)

    def has(self, fault):
        return self.fault == fault

    def do(self, verb, want):
        if verb == "get_entries":
            if self.has("unknown rooms are empty") and want["conversation_id"] != ROOM:
                return {"entries": [], "after": "h1:0", "present": True}
            if self.has("around_id of what was deleted is ignored") \
                    and want.get("around_id") in self.pier.removed:
                del want["around_id"]
            if self.has("tokens at what was deleted are unknown") and any(
                    f"{ROOM}-{want.get(name, '').replace(':', '-')}" in self.pier.removed
                    for name in ("before", "after")):
                raise HTTPError("", 410, "", None, None)
            return self.altered(super().do(verb, want), want)
        if self.has("unreact does nothing") and verb == "unreact_message":
            return {}
        if self.has("deletions leave no entry") and verb == "delete_message":
            log = self.pier.rooms[ROOM]
            log[:] = [item for item in log if item["id"] != want["message_id"]]
            return {}
        if self.has("texts are cut") and len(str(want.get("payload"))) > 64:
            want["payload"] = want["payload"][:64]
        if self.has("replies are dropped") or self.has("metadata is dropped"):
            want.pop({"r": "reply_to", "m": "metadata"}[self.fault[0]], None)
        made = super().do(verb, want)
        if self.has("a second deletion conflicts") and verb == "delete_message" \
                and made["entry_id"] is None:
            raise HTTPError("", 409, "", None, None)
        if self.has("edits are answered with another id") and verb == "edit_message":
            made["entry_id"] = "other"
        if self.has("sends are answered with another time") and "message" in made:
            made["message"]["created_at"] = "2026-02-01T00:00:00Z"
        return made

    def altered(self, page, want):
        """A page with the fault of its adapter."""
        entries = page["entries"]
        if self.has("the newest first"):
            entries.reverse()
        if self.has("two entries swapped") and len(entries) > 6:
            entries[2:4] = entries[3:1:-1]
        if self.has("an epoch for each answer"):
            self.count += 1
            page["epoch"] = str(self.count)
        if self.has("no end of before") or self.has("no end of before, each another"):
            self.count += 1
            page.setdefault("before", "h1:0" if self.fault.endswith("before") else
                            f"h1:{'0' * self.count}0")
        if self.has("after passes one over") and "after" in want and entries:
            del entries[0]
        if self.has("before passes one over") and "before" in want and entries:
            del entries[-1]
        if self.has("changes name no sender"):
            for entry in entries:
                if entry.get("change") == "react":
                    del entry["sender_id"]
        if self.has("the start is claimed"):
            page.pop("before", None)
        return page

    def receive(self, timeout_s):
        raw = super().receive(timeout_s)
        frame = json.loads(raw) if raw else {}
        if frame.get("type") != "entries_new":
            return raw
        if self.has("a push begins elsewhere"):
            frame["before"] = frame["after"]
        if self.has("a push ends elsewhere"):
            frame["after"] = "h1:0"
        if self.has("changes are not pushed"):
            frame["entries"] = [entry for entry in frame["entries"] if "change" not in entry]
        if self.has("pushes have ids of their own"):
            for entry in frame["entries"]:
                if "message_id" in entry:
                    entry["message_id"] += "-pushed"
        if self.has("pushes have another time"):
            for entry in frame["entries"]:
                entry["created_at"] = "2026-02-01T00:00:00Z"
        return json.dumps(frame).encode()


#: What is planted, and what the probe calls it.
FAULTS = {
    "the newest first": "entries-order",
    "two entries swapped": "entries-order",
    "an epoch for each answer": "epoch-changes",
    "around_id of what was deleted is ignored": "around-deleted",
    "a push begins elsewhere": "push-token-wrong",
    "a push ends elsewhere": "push-token-wrong",
    "changes are not pushed": "changes-unpushed",
    "pushes have another time": "push-differs",
    "pushes have ids of their own": "push-unknown",
    "changes name no sender": "entry-bad",
    "edits are answered with another id": "entry-id-wrong",
    "marks unanswered": "unanswered",
    "unreact does nothing": "changes-untold",
    "deletions leave no entry": "changes-untold",
    "a second deletion conflicts": "repeat-refused",
    "replies are dropped": "members-dropped",
    "metadata is dropped": "members-dropped",
    "texts are cut": "payload-cut",
    "sends are answered with another time": "stamp-changes",
    "unknown rooms are empty": "unknown-conversation",
    "no end of before": "start-endless",
    "no end of before, each another": "start-endless",
    "after passes one over": "page-holes",
    "before passes one over": "lost-message",
    "the start is claimed": "lost-message",
    "tokens at what was deleted are unknown": "tokens-removed",
    "known by a login": "idempotency-scope",
    "known on a connection": "idempotency-scope",
}
#: Named beside the fault itself, since it is seen there too.
BESIDE = {
    "the newest first": {"page-holes", "push-token-wrong", "changes-untold"},
    "changes are not pushed": {"push-token-wrong"},
    "two entries swapped": {"page-holes"},
    "pushes have ids of their own": {"pushes"},
    "marks unanswered": {"marks-refused"},
    "deletions leave no entry": {"repeat-refused"},
    "after passes one over": {"push-token-wrong"},
    "before passes one over": {"page-holes", "push-token-wrong", "changes-untold"},
    "the start is claimed": {"client-ids", "changes-untold"},
}


def hello(user, login):
    return (json.dumps({"type": "hello", "user": user, "login": login}),)


def run(fault="", pier=None, **more):
    pier = pier or Pier()
    return probe(Setup(**{
        "dial": lambda: Near(pier, fault=fault), "conversation": ROOM, "messages": 45,
        "clock": pier.clock, "pause": pier.pause, "run": "run", "hello": hello("eva", "first"),
        "other": hello("otto", "other"), "device": hello("eva", "second"), "patient": True,
        **more}))


class Planted(unittest.TestCase):
    def test_an_adapter_without_a_fault(self):
        report = run()
        self.assertEqual([(one.name, one.text) for one in report.of(Level.FAULT)], [])
        self.assertEqual(report.names(Level.TRAP), set())
        # Whether the epoch changes, and old tokens are refused, cannot be found out.
        self.assertEqual(fit(report).capabilities,
                         Capabilities.LOG | Capabilities.IDEMPOTENT_SEND)
        self.assertEqual(differences(report, tideline.Profile(
            capabilities=Capabilities.LOG | Capabilities.LOG_REFUSES | Capabilities.LOG_EPOCH
            | Capabilities.IDEMPOTENT_SEND)), [])

    def test_each_fault_is_named(self):
        for fault, name in FAULTS.items():
            with self.subTest(fault):
                report = run(fault)
                found = report.names(Level.FAULT, Level.TRAP)
                self.assertIn(name, found)
                self.assertEqual(found - {name} - BESIDE.get(fault, set()), set())

    def test_the_page_has_them(self):
        page = (ROOT / "docs" / "guide" / "log-adapter.md").read_text()
        section = page.partition("### In a log\n")[2].partition("\n## ")[0]
        named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+|unanswered)`", section))
        planted = {*FAULTS.values(), "prev-wrong", "present-missing", "present-early"}
        self.assertLessEqual(set(FAULTS.values()), named)
        self.assertLessEqual(named, planted)

    def test_a_lost_message_is_named_and_one_that_the_probe_deleted_is_not_lost(self):
        class Loses(Near):
            def altered(self, page, want):
                page["entries"] = [entry for entry in page["entries"]
                                   if entry.get("message_id") != f"{ROOM}-h1-9"]
                return page

        pier = Pier()
        report = run(pier=pier, dial=lambda: Loses(pier))
        self.assertIn("1 confirmed", report.text("lost-message"))
        self.assertIn(f"'{ROOM}-h1-9'", report.text("lost-message"))

    def test_how_long_a_log_knows_a_send(self):
        report = run(pier=Pier(memory_s=120))
        self.assertIn("idempotency-time", report.names(Level.TRAP))
        self.assertEqual(fit(report).idempotency_s, 120)
        self.assertIn("idempotency-time", run(patient=False).names(Level.UNKNOWN))
        for fault, scope in (("known by a login", "DEVICE"), ("known on a connection",
                                                              "CONNECTION")):
            self.assertEqual(fit(run(fault)).idempotency_scope, IdempotencyScope[scope])

    def test_a_room_that_is_not_there_is_named_with_the_answer(self):
        report = run(conversation="nowhere")
        self.assertEqual(report.names(Level.FAULT, Level.TRAP), {"room-refused"})
        self.assertIn("'nowhere' is answered 'not_found'", report.text("room-refused"))

    def test_pages_are_given_in_neither_way(self):
        class Neither(Near):
            def do(self, verb, want):
                raise KeyError(verb) if verb.startswith("get_") else OSError(verb)

        pier = Pier()
        report = run(pier=pier, dial=lambda: Neither(pier), hello=(), other=())
        self.assertEqual(report.names(Level.FAULT), {"pages-refused"})


class TheExample(unittest.TestCase):
    def setUp(self):
        self.pier = Pier()
        self.pier.serve()
        self.addCleanup(self.pier.close)

    def test_the_loop_of_the_page_goes_on_after_a_server_was_away(self):
        page = (ROOT / "docs" / "guide" / "adapter.md").read_text()
        names = {}
        exec(re.search(r"^def turn\(.*?(?=^```)", page, re.MULTILINE | re.DOTALL).group(), names)
        made = []

        class Ends(Near):
            """The first has no connection, the second loses it before its first answer."""

            def __init__(self, pier):
                made.append(self)
                if len(made) == 1:
                    raise ConnectionRefusedError
                self.number = len(made)
                super().__init__(pier)

            def receive(self, timeout_s):
                if self.number == 2 and self.frames:
                    raise ConnectionResetError
                return super().receive(timeout_s)

        profile = tideline.Profile(capabilities=Capabilities.LOG | Capabilities.IDEMPOTENT_SEND)
        with tideline.Client(user_id="eva", profile=profile) as client:
            client.send(ROOM, "once")
            adapter, states = None, []
            for _ in range(20):
                adapter = names["turn"](client, adapter, lambda: Ends(self.pier))
                states.append(adapter is not None)
            self.assertEqual(states[:3], [False, True, False])
            self.assertTrue(all(states[3:]))
            self.assertEqual(len(made), 3)
            self.assertEqual([json.loads(item["body"])["payload"]
                              for item in self.pier.rooms[ROOM]], ["once"])
            self.assertEqual([row.state for row in client.messages(ROOM).messages],
                             [tideline.MessageState.CONFIRMED])

    def test_a_client_has_what_the_server_has(self):
        """Over HTTP: pages, pushes, edits, reactions, deletions, marks, and an epoch."""
        pier = self.pier
        for number in range(120):
            pier.handle("POST", f"/rooms/{ROOM}/log", "otto", {
                "kind": "text", "body": json.dumps({"payload": f"before {number}"}), "to": [],
                "key": None})
        adapter = log_adapter.Adapter(pier.base, "eva")
        profile = tideline.Profile(capabilities=Capabilities.LOG | Capabilities.LOG_REFUSES
                                   | Capabilities.LOG_EPOCH | Capabilities.IDEMPOTENT_SEND)
        with tideline.Client(user_id="eva", profile=profile) as client:
            def carry():
                count = 0
                while frames := list(client.frames()):
                    for frame in frames:
                        adapter.send(frame.bytes)
                        client.frame_sent(frame.id)
                        count += 1
                    while (got := adapter.receive(0)) is not None:
                        client.receive(got)
                return count

            def same():
                page = client.messages(ROOM, limit=1_000)
                self.assertTrue(page.coverage.whole)
                texts = {item["id"]: json.loads(item["body"])["payload"]
                         for item in pier.rooms[ROOM] if item["kind"] == "text"}
                for item in pier.rooms[ROOM]:
                    if item["kind"] == "edit":
                        texts[item["to"]] = json.loads(item["body"])["payload"]
                self.assertEqual([(row.id, row.json) for row in page.messages
                                  if row.id not in pier.removed], list(texts.items()))
                self.assertEqual([row.json for row in page.messages if row.id in pier.removed],
                                 [None] * len(pier.removed))

            client.connected()
            client.sync(ROOM)
            carry()
            client.sync(ROOM, tideline.SyncKind.OLDER, want=10_000)
            carry()
            same()
            client.send(ROOM, "from here")
            carry()
            mine = pier.rooms[ROOM][-1]["id"]
            other = log_adapter.Adapter(pier.base, "otto")

            def does(verb, **members):
                other.send(json.dumps({"type": verb, "request_id": "1", "conversation_id": ROOM,
                                       **members}).encode())
                self.assertEqual(json.loads(other.receive(0))["status"], "ok")

            does("edit_message", message_id=f"{ROOM}-h1-3", payload="edited")
            does("delete_message", message_id=f"{ROOM}-h1-60")
            does("send_message", payload="later", client_id="k")
            does("mark_read", message_ids=[mine])
            # All of it is pushed, so nothing is asked.
            while (got := adapter.receive(0)) is not None:
                client.receive(got)
            self.assertEqual(carry(), 0)
            same()
            self.assertEqual([row.read_by for row in client.messages(ROOM, limit=1_000).messages
                              if row.id == mine], [(tideline.Reader("otto"),)])
            # No sender says what is the server's, and what JSON cannot say is refused.
            adapter.send(b'{"type":"send_message","request_id":"2","conversation_id":"quay",'
                         b'"client_id":"x","payload":1e400}')
            self.assertEqual(json.loads(adapter.receive(0))["error"], {"code": "invalid"})
            adapter.send(b'{"type":"send_message","request_id":"3","conversation_id":"quay",'
                         b'"client_id":"y","payload":"z","sender_id":"otto","deleted":true}')
            told = [json.loads(adapter.receive(0)) for _ in range(2)]
            answer = next(frame for frame in told if "status" in frame)["data"]["message"]
            self.assertEqual(answer["sender_id"], "eva")
            self.assertNotIn("deleted", answer)


if __name__ == "__main__":
    unittest.main()

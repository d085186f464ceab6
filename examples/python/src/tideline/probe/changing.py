"""What becomes of what is written to a log: messages, their members, changes and repetitions."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .entries import Log, name_of
from .lasting import Known
from .stamp import parse
from .talk import Answer, Manner

#: Fewer sends than this leave nothing to change.
_NEEDED = 6
_REACTION = "+"
_LONG = "0123456789" * 40
_MEMBERS: dict[str, Any] = {"metadata": {"probe": "kept"}, "probe_member": "kept"}
_OF_HOST = "probe_member"
#: Answers to a repetition that let a client end its work.
_DONE = frozenset({"not_found", "exists"})


@dataclasses.dataclass(frozen=True)
class Own(Known):
    """A message in a log. ``message`` is that of the answer, if it has one."""

    message: dict[str, Any]


class LogWriter:
    """Sends and changes. ``sent`` is in the order of sending; ``gone`` are the ids that the probe
    itself has deleted: they may leave the log."""

    def __init__(self, log: Log, manner: Manner, run: str, payload: str) -> None:
        self.log = log
        self.sent: list[Own] = []
        self.gone: set[str] = set()
        #: Ids of changes as their answers gave them, by target.
        self._answered: dict[str, Any] = {}
        self._manner = manner
        self._run = run
        self._payload = payload
        self._count = 0

    @property
    def ids(self) -> list[str]:
        """All ids that were sent, in that order."""
        return [own.id for own in self.sent]

    def text(self, words: str) -> Any:
        """A payload that says this."""
        return json.loads(self._payload.replace("%", words))

    def send(self, words: str = "", **members: Any) -> Own | None:
        """Sends one message; None if it was refused."""
        client_id = f"probe-{self._run}-{self._count}"
        payload = self.text(words or str(self._count))
        self._count += 1
        own = self.again(client_id, payload, **members)
        if own is not None:
            self.sent.append(own)
        return own

    def again(self, client_id: str, payload: Any, **members: Any) -> Own | None:
        """Sends under a client id that may have been used before."""
        answer = self.log.talk.ask("send_message", conversation_id=self.log.id,
                                   client_id=client_id, payload=payload, **members)
        message = answer.data.get("message")
        shown = message if isinstance(message, dict) else {}
        key = name_of(shown) or answer.data.get("message_id")
        if not answer.ok and answer.code != "exists" or not isinstance(key, str):
            return None
        if shown.get("client_id", client_id) != client_id:
            self.log.report.fault("client-id-wrong", "the message of an answer has another "
                                  "client_id than the one sent: the answer is malformed")
        return Own(key, client_id, payload, shown)

    def change(self, verb: str, target: str, **more: Any) -> Answer:
        """Asks for a change of a message."""
        return self.log.talk.ask(verb, conversation_id=self.log.id, message_id=target, **more)

    # MARK: All of it

    def write(self, count: int) -> None:
        """Sends, edits, reacts and deletes, and looks for all of it in the log."""
        report, log = self.log.report, self.log
        for _ in range(count):
            self.send()
        if len(self.sent) < _NEEDED:
            report.unknown("sends", f"{len(self.sent)} of {count} sends were taken")
            return
        long = self.send(_LONG)
        if long is None:
            report.seen("long", f"a text of {len(_LONG)} characters is refused")
        self._tokens_of_removed()
        rich = self.send(reply_to=self.sent[0].id, **_MEMBERS)
        self.again(self.sent[0].client_id, self.sent[0].payload)
        taken = self._changes()
        self._verbs()
        self._manner.pause(1.1)
        if not log.walk():
            return
        self._order()
        self._same(rich)
        self._told(taken)
        own = [entry for entry in log.entries
               if entry.get("client_id") == self.sent[0].client_id and "change" not in entry]
        if not own:
            report.trap("client-ids", "the log does not name the client_id of what was sent: what "
                        "was never answered is found by its payload")
        report.facts.can["idempotent_send"] = len(own) == 1
        self._removed()

    def _changes(self) -> dict[str, str]:
        """The verbs that were taken, and their targets."""
        edited, reacted, deleted, withdrawn = self.ids[:4]
        wanted: tuple[tuple[str, str, dict[str, Any]], ...] = (
            (edited, "edit_message", {"payload": self.text("edited")}),
            (reacted, "react_message", {"reaction": _REACTION}),
            (withdrawn, "react_message", {"reaction": _REACTION}),
            (withdrawn, "unreact_message", {"reaction": _REACTION}),
            (deleted, "delete_message", {}))
        taken: dict[str, str] = {}
        for target, verb, more in wanted:
            answer = self.change(verb, target, **more)
            if not answer.ok:
                self.log.report.seen(verb, f"{verb}: refused with {answer.code!r}")
                continue
            taken[verb] = taken.get(verb, target)
            if "entry_id" in answer.data and verb in ("edit_message", "react_message"):
                self._answered[target] = answer.data["entry_id"]
            if verb == "delete_message":
                self.gone.add(target)
            if verb == "react_message" and target == withdrawn:
                continue
            again = self.change(verb, target, **more)
            if not again.ok and again.code not in _DONE:
                self.log.report.fault("repeat-refused", f"a {verb} that is repeated is answered "
                                      f"{again.code!r}: after a lost answer the user is told that "
                                      "it failed. What is done is answered with ok")
        return taken

    def _tokens_of_removed(self) -> None:
        """Tokens beside a message lead on after it was deleted."""
        own, page = self.send(), self.log.page(1)
        if own is None or page is None or not self.change("delete_message", own.id).ok:
            return
        self.gone.add(own.id)
        for name in ("after", "before"):
            token = page.get(name)
            if isinstance(token, str) and self.log.ask(1, **{name: token}).code == "unknown_cursor":
                self.log.report.trap("tokens-removed", "a token beside a message is refused once "
                                     "that message is deleted: each client that had read up to "
                                     "there looks for its place by `around_id`")

    def _verbs(self) -> None:
        """Every other verb is answered, be it refused."""
        talk, here, last = self.log.talk, {"conversation_id": self.log.id}, self.ids[-1]
        for verb in ("mark_read", "mark_delivered", "mark_listened"):
            for _ in range(2):
                answer = talk.ask(verb, **here, message_ids=[last])
            if verb == "mark_read" and not answer.ok:
                self.log.report.fault("marks-refused", f"mark_read is answered {answer.code!r}: "
                                      "every server needs it")
        for verb in ("pin_message", "unpin_message", "mark_last_read", "get_receipts"):
            talk.ask(verb, **here, message_id=last)
        talk.ask("get_conversations", limit=5, offset=0)
        for verb in ("get_conversation", "get_unread_count"):
            talk.ask(verb, **here)
        talk.ask("get_total_unread_count")

    # MARK: Looking for it

    def _order(self) -> None:
        report, ids = self.log.report, self.log.ids
        place = {key: at for at, key in enumerate(ids)}
        lost = [key for key in self.ids if key not in place and key not in self.gone]
        if lost:
            report.fault("lost-message", f"{len(lost)} confirmed messages are not in the log, "
                         f"{lost[0]!r} for one")
        own = [place[key] for key in self.ids if key in place]
        if own != sorted(own):
            report.fault("entries-order", "messages that were sent one after another, each after "
                         "the answer to the one before, are not in that order: `entries` lists the "
                         "oldest first, in the order of the log")

    def _same(self, rich: Own | None) -> None:
        """A message of the log says what was sent, at the time that the answer said."""
        report = self.log.report
        listed = {name_of(entry): entry for entry in self.log.entries if "change" not in entry}
        for own in self.sent:
            found = listed.get(own.id)
            if found is None or found.get("deleted") is True or own is self.sent[0]:
                continue
            if found.get("payload") != own.payload:
                told, sent = json.dumps(found.get("payload")), json.dumps(own.payload)
                cut = isinstance(own.payload, str) and own.payload.startswith(
                    str(found.get("payload")))
                if cut:
                    report.fault("payload-cut", f"a payload of {len(sent)} bytes comes back with "
                                 f"{len(told)}: refuse with `too_large` what does not fit")
                else:
                    report.trap("payload-changed", "a payload comes back otherwise than it was "
                                f"sent: {told[:60]}")
            answered, printed = own.message.get("created_at"), found.get("created_at")
            if answered is not None and parse(answered) != parse(printed):
                report.fault("stamp-changes", f"the answer says {answered!r} of a message, and a "
                             f"page {printed!r}: both are the time that pages show")
        shown = listed.get(rich.id) if rich is not None else None
        if shown is not None:
            wanted = {"reply_to": self.sent[0].id, **_MEMBERS}
            dropped = [name for name in wanted if shown.get(name) != wanted[name]]
            if _OF_HOST in dropped:
                dropped.remove(_OF_HOST)
                report.seen("members-of-host", "a member that the protocol does not have is not "
                            "in pages: a host puts its own into the payload")
            if dropped:
                report.trap("members-dropped", f"of a message that was sent, pages do not show "
                            f"{', '.join(f'`{name}`' for name in dropped)} as sent: what it "
                            "answers, or what the host added, is lost")

    def _told(self, taken: dict[str, str]) -> None:
        """Each change that was taken is in the log, or shown in its message."""
        listed = {name_of(entry): entry for entry in self.log.entries if "change" not in entry}
        for verb, target in taken.items():
            if not self._is_told(verb, target, listed.get(target, {})):
                why = " The message has left the log: a removal without an entry is a ghost on " \
                    "each client that had read it" if verb == "delete_message" \
                    and target not in listed else ""
                self.log.report.fault("changes-untold", f"{verb} was taken, and no entry of the "
                                      f"log tells of it.{why}")
        for target, key in self._answered.items():
            names = [name_of(entry) for entry in self.log.entries
                     if entry.get("target_id") == target]
            if names and key not in names:
                self.log.report.fault("entry-id-wrong", f"a change was answered with the entry_id "
                                      f"{key!r}, and no entry of its message has that: the change "
                                      "counts as lost. Leave it out if it is not known")
        edits = [entry for entry in self.log.entries if entry.get("change") == "edit"
                 and entry.get("target_id") == taken.get("edit_message")]
        if edits and edits[-1].get("payload") != self.text("edited"):
            self.log.report.trap("payload-changed", "an edit comes back otherwise than it was "
                                 f"sent: {json.dumps(edits[-1].get('payload'))[:60]}")

    def _is_told(self, verb: str, target: str, message: dict[str, Any]) -> bool:
        changes = [entry for entry in self.log.entries if entry.get("target_id") == target
                   and "change" in entry and entry.get("deleted") is not True]
        kinds = [entry["change"] for entry in changes]
        if verb == "edit_message":
            return "edit" in kinds or bool(message.get("edited_at"))
        if verb == "delete_message":
            return "delete" in kinds or message.get("deleted") is True
        # The last of its kind counts; one that was withdrawn is `deleted`, or named by a `delete`.
        withdrawn = {entry.get("target_id") for entry in self.log.entries
                     if entry.get("change") == "delete"}
        is_there = False
        for entry in changes:
            if entry["change"] == "reactions":
                is_there = _REACTION in (entry.get("reactions") or [])
            elif entry["change"] in ("react", "unreact") and entry.get("reaction") == _REACTION \
                    and name_of(entry) not in withdrawn:
                is_there = entry["change"] == "react"
        return is_there == (verb == "react_message")

    def _removed(self) -> None:
        """`around_id` of what was deleted: the entry if it keeps its place, else `not_found`."""
        for key in self.gone:
            answer = self.log.ask(5, around_id=key)
            listed = answer.data.get("entries")
            names = [name_of(entry) for entry in listed] if isinstance(listed, list) else []
            if answer.ok and key not in names:
                self.log.report.fault("around-deleted", "around_id of an entry that has left the "
                                      "log gives another page: answer `not_found`")

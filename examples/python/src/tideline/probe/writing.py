"""What becomes of what is sent, edited and deleted: checks in a scratch conversation."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .room import Room, Row
from .stamp import parse
from .talk import Answer, Manner

#: Longer than the coarsest resolution that servers print.
STEP_S = 1.1
#: A server that loses answers is looked at all the same; one that refuses sends is not filled.
_MISSED_MAX = 5


@dataclasses.dataclass(frozen=True)
class Sent:
    """A message of the probe's own. ``answer_at`` is where its answer stands in the events."""

    row: Row
    client_id: str
    answer_at: int

    @property
    def id(self) -> str:
        """The server's id."""
        return self.row.id


class Writer:
    """Sends, edits and deletes. ``sent`` is in the order of sending; ``gone`` are the deleted."""

    def __init__(self, room: Room, manner: Manner, run: str, payload: str) -> None:
        self.room = room
        self.sent: list[Sent] = []
        self.gone: set[str] = set()
        self._manner = manner
        self._run = run
        self._payload = payload
        self._count = 0
        self._sender: str | None = None

    @property
    def ids(self) -> list[str]:
        """All ids that were sent, in that order."""
        return [sent.id for sent in self.sent]

    def wait(self) -> None:
        """Lets the printed time go on."""
        self._manner.pause(STEP_S)

    # MARK: Sending

    def send(self, client_id: str = "") -> Sent | None:
        """Sends one message; None where it was refused."""
        self._count += 1
        name = client_id or f"probe-{self._run}-{self._count}"
        payload = self.payload(self._count)
        answer = self.room.talk.ask("send_message", conversation_id=self.room.id, client_id=name,
                                    payload=payload)
        if not answer.ok:
            return None
        message = answer.data.get("message")
        row = self.room.row(message) if message is not None else None
        report = self.room.report
        if row is None:
            report.fault("send-without-message", "the answer to send_message has no good `message`:"
                         " the send counts as never answered")
            return None
        self.room.server_time.append((row.stamp, self._manner.clock()))
        self._sender = self._sender or row.raw["sender_id"]
        if row.raw["sender_id"] != self._sender:
            report.fault("sender-wrong", "answers to send_message name several senders: they are "
                         "malformed where it is not this user")
        if row.raw.get("client_id", name) != name:
            report.fault("client-id-wrong", "the message of an answer has another client_id than "
                         "the one sent: the answer is malformed")
        if row.raw["payload"] != payload:
            report.trap("payload-changed", "a payload comes back otherwise than it was sent: "
                        f"{json.dumps(row.raw['payload'])[:60]}")
        return Sent(row, name, len(self.room.talk.events) - 1)

    def payload(self, number: int) -> Any:
        """What the message of a number says."""
        return json.loads(self._payload.replace("%", str(number)))

    def fill(self, count: int) -> bool:
        """Sends in groups, with time between them. Whether anything was taken."""
        groups, missed = 8, 0
        for number in range(count):
            if number and number % max(1, count // groups) == 0:
                self.wait()
            sent = self.send()
            if sent is None:
                missed += 1
                if missed == _MISSED_MAX:
                    self.room.report.unknown("sends", f"{missed} sends in a row were not taken, "
                                             f"after {len(self.sent)} that were")
                    break
                continue
            missed = 0
            self.sent.append(sent)
            if len(self.sent) in (1, count // 2):
                self._visible(sent)
        self.wait()
        self._stamps()
        return len(self.sent) > 0

    def _visible(self, sent: Sent) -> None:
        """Whether pages show at once what was confirmed."""
        for turn in range(20):
            page = self.room.page(10)
            if page is None:
                return
            if sent.id in page.ids:
                if turn:
                    late = turn * 250
                    facts = self.room.report.facts
                    facts.late_ms = max(facts.late_ms, late)
                    self.room.report.trap("late", f"pages show a message {late} ms after it was "
                                          "confirmed: the overlap has to be longer than that")
                return
            self._manner.pause(0.25)
        page = self.room.page(1_000)
        if page is None or sent.id in page.ids:
            # It is not where the newest ones should be: the order of pages is looked at.
            return
        self.room.report.fault("lost-message", "a message that was confirmed is not among the "
                               "newest ten 5 s later")

    def _stamps(self) -> None:
        back = [early.row.us - late.row.us for early, late in zip(self.sent, self.sent[1:])]
        worst = max(back, default=0)
        if worst > 0:
            facts = self.room.report.facts
            facts.late_ms = max(facts.late_ms, worst // 1_000 + 1)
            self.room.report.trap("stamps-back", f"a message is stamped {worst / 1e6:g} s before "
                                  "one that was sent earlier: the overlap has to be longer")

    def here(self) -> None:
        """What was sent is in the list, once, and what was deleted is not."""
        report, rows = self.room.report, self.room.rows
        shown = {row.id: row for row in rows}
        lost = [sent for sent in self.sent if sent.id not in shown and sent.id not in self.gone]
        if lost:
            report.fault("lost-message", f"{len(lost)} of {len(self.sent)} confirmed messages are "
                         f"on no page, {lost[0].id!r} for one")
        named = [sent for sent in self.sent if sent.id in shown]
        if named and not any("client_id" in shown[sent.id].raw for sent in named):
            report.trap("no-client-ids", "pages have no client_id: a send that was never answered "
                        "is found again by its payload alone")
        if any(shown[sent.id].printed != sent.row.printed for sent in named):
            report.fault("stamp-changes", "a message has another created_at in a page than in its "
                         "answer: it is shown in two places")

    # MARK: Changing

    def change(self) -> None:
        """Edits, reacts, deletes, and looks for all of it."""
        if len(self.sent) < 12:
            self.room.report.unknown("changes", "edits and deletions: fewer than 12 messages")
            return
        mark = self.send()
        if mark is None:
            return
        self.sent.append(mark)
        self._since = dict.fromkeys(("deleted_since", "changed_since"), mark.row.printed)
        if self.room.cursors and self.room.page(1) is not None:
            self._since |= self.room.cursors
        self.wait()
        edited = self._edit(self.sent[3])
        self._react(self.sent[4])
        deleted = [self.sent[1].id, self.sent[len(self.sent) // 2].id, self.sent[-3].id]
        taken = [message for message in deleted if self.room.talk.ask(
            "delete_message", conversation_id=self.room.id, message_id=message).ok]
        self.gone |= set(taken)
        self.wait()
        before = self.room.total
        self.room.walk()
        self.here()
        if edited is not None:
            self._edits(mark, self.sent[3].id, edited)
        if taken:
            self._deletions(mark, set(taken), before)
        else:
            self.room.report.unknown("deletions", "deletions: delete_message was refused")

    def _edit(self, target: Sent) -> Any | None:
        payload = self.payload(1_000_001)
        answer = self.room.talk.ask("edit_message", conversation_id=self.room.id,
                                    message_id=target.id, payload=payload)
        if not answer.ok:
            self.room.report.seen("edits", f"edit_message is answered {answer.code!r}")
        return payload if answer.ok else None

    def _edits(self, mark: Sent, target: str, payload: Any) -> None:
        report = self.room.report
        row = next((row for row in self.room.rows if row.id == target), None)
        if row is None:
            report.fault("lost-message", "a message that was edited is on no page any more")
        elif row.raw["sender_id"] != self._sender:
            report.fault("edit-changes-sender", "an edited message has another `sender_id` than "
                         "before: the library ignores such an edit, and who applies it shows the "
                         "words of one user under the name of another")
        elif row.raw["payload"] != payload:
            report.fault("edit-unseen", "a page shows an edited message as it was before: edits "
                         "that came while offline are never seen")
        else:
            report.seen("edits", "pages show an edited message as it now is")
            if "version" not in row.raw and "edited_at" not in row.raw:
                report.trap("edit-unmarked", "an edited message has neither version nor edited_at: "
                            "the copy that was asked for later wins")
        if report.facts.can.get("changed_since"):
            self._changed(mark, target, payload, row)

    def _changed(self, mark: Sent, target: str, payload: Any, row: Row | None) -> None:
        report = self.room.report
        found = self._changes(self._since["changed_since"])
        if found.get(target, {}).get("payload") != payload:
            report.fault("changed-missing", "get_changed_since does not give a message that was "
                         "edited after `since`")
            return
        edited = row.raw.get("edited_at") if row is not None else None
        if "changed_since" in self.room.cursors:
            return
        if parse(edited) is None:
            report.unknown("changed-inclusive", "whether get_changed_since includes its own time: "
                           "no edited_at is told")
        elif target not in self._changes(edited):
            report.fault("changed-exclusive", "get_changed_since leaves its own time out: it gives "
                         "what changed at or after `since`, and a change in the same tick as the "
                         "last one asked is lost")

    def _changes(self, since: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for _ in range(50):
            answer = self.room.talk.ask("get_changed_since", conversation_id=self.room.id,
                                        since=since)
            listed = answer.data.get("messages")
            if isinstance(listed, list):
                found.update((str(raw.get("message_id")), raw) for raw in listed
                             if isinstance(raw, dict))
            since = answer.data.get("next_since")
            if not answer.ok or answer.data.get("has_more") is not True or since is None:
                break
        return found

    def _react(self, target: Sent) -> None:
        talk, report = self.room.talk, self.room.report
        answers = [talk.ask(verb, conversation_id=self.room.id, message_id=target.id,
                            reaction="\N{THUMBS UP SIGN}")
                   for verb in ("react_message", "react_message", "unreact_message")]
        if not answers[0].ok:
            report.seen("reactions", f"react_message is answered {answers[0].code!r}")
            return
        twice = _users(answers[1])
        if twice is not None and len(twice) > 1:
            report.fault("reaction-twice", "one reaction of one user, asked twice, counts twice: "
                         "all verbs but sends are safe to repeat")
        report.seen("reactions", "reactions are taken")

    def _deletions(self, mark: Sent, taken: set[str], before: int | None) -> None:
        room, report = self.room, self.room.report
        shown = [row for row in room.rows if row.id in taken]
        told = self.deleted(self._since["deleted_since"])
        if any(row.raw.get("deleted") is not True for row in shown):
            report.facts.deletions_later = True
            report.trap("deleted-in-pages", "pages still show a message that was deleted, as if it "
                        "were there: it comes back on every screen. Leave it out, or declare "
                        "TL_PROFILE_DELETIONS_LATER")
        elif shown:
            report.trap("deleted-marked", "pages show deleted messages, with `deleted`")
        if taken <= told:
            report.seen("deletions", "get_deleted_since tells deletions by the time of deletion")
        elif not room.cursors and taken <= self.deleted(room.rows[0].printed):
            report.fault("deletion-times", "get_deleted_since selects by the time of the message, "
                         "not by that of its deletion: a deletion of something old is never told")
        else:
            report.fault("deletions-untold", f"get_deleted_since tells {len(told & taken)} of "
                         f"{len(taken)} deletions: the others stay on the screen for ever")
        added = 1
        if before is None or room.total is None or not room.whole:
            return
        if room.total == before + added and len(room.rows) == room.total - len(taken):
            report.facts.counts_hidden = True
            report.trap("counts-hidden", "total_count goes on counting what was deleted: it needs "
                        "TL_PROFILE_COUNTS_HIDDEN")
        elif room.total == len(room.rows):
            report.facts.counts_hidden = False

    def deleted(self, since: Any) -> set[str]:
        """All ids that get_deleted_since tells."""
        found: set[str] = set()
        for _ in range(50):
            answer = self.room.talk.ask("get_deleted_since", conversation_id=self.room.id,
                                        since=since)
            listed = answer.data.get("message_ids")
            found |= {item for item in listed if isinstance(item, str)} \
                if isinstance(listed, list) else set()
            since = answer.data.get("next_since")
            if not answer.ok or answer.data.get("has_more") is not True or since is None:
                break
        return found

    # MARK: Twice

    def repeat(self) -> None:
        """Whether a send with a known client id makes a second message."""
        report, facts = self.room.report, self.room.report.facts
        first = self.sent[0]
        answer = self.room.talk.ask(
            "send_message", conversation_id=self.room.id, client_id=first.client_id,
            payload=first.row.raw["payload"])
        message = answer.data.get("message")
        made = message.get("message_id") if isinstance(message, dict) else None
        if answer.code == "exists" and made is None:
            report.fault("exists-bare", "`exists` comes without the `data` of the first answer: "
                         "the message that was made is not known")
        facts.can["idempotent_send"] = made == first.id
        if made == first.id and self._stands_twice(first):
            facts.can["idempotent_send"] = False
            report.fault("sent-twice", "a send that is repeated is answered with the first message,"
                         " and a second one stands in the pages: it is shown twice")
        elif made == first.id:
            report.seen("idempotent_send", "idempotent_send: a send that is repeated is done once")
            if not facts.deletions_later:
                self._after_deletion()
        elif made is not None:
            report.seen("idempotent_send", "idempotent_send: not there, a send that is repeated "
                        "makes a second message")
            self.room.talk.ask("delete_message", conversation_id=self.room.id, message_id=made)
            self.gone.add(str(made))
        else:
            report.seen("idempotent_send", f"idempotent_send: a repeated send is answered "
                        f"{answer.code!r}")

    def _stands_twice(self, sent: Sent) -> bool:
        page = self.room.page(10)
        return page is not None and any(
            row.raw.get("client_id") == sent.client_id and row.id != sent.id for row in page.rows)

    def _after_deletion(self) -> None:
        sent = self.send()
        if sent is None or not self.room.talk.ask(
                "delete_message", conversation_id=self.room.id, message_id=sent.id).ok:
            return
        self.gone.add(sent.id)
        again = self.room.talk.ask("send_message", conversation_id=self.room.id,
                                   client_id=sent.client_id, payload=sent.row.raw["payload"])
        page = self.room.page(10)
        shown = [row for row in page.rows if row.raw.get("deleted") is not True] if page else []
        if any(row.id == sent.id for row in shown):
            self.room.report.fault("deleted-comes-back", "a send that is repeated after its message"
                                   " was deleted brings the message back")
        elif any(row.raw.get("client_id") == sent.client_id for row in shown):
            # Who looks for the message before it sends finds none.
            self.room.report.seen("deleted-is-unknown", "a send that is repeated after its message "
                                  "was deleted makes another one")
            message = again.data.get("message")
            if isinstance(message, dict):
                self.room.talk.ask("delete_message", conversation_id=self.room.id,
                                   message_id=message.get("message_id"))

    def verbs(self) -> None:
        """Every other verb is answered, be it refused."""
        message = next(sent.id for sent in reversed(self.sent) if sent.id not in self.gone)
        talk, here = self.room.talk, {"conversation_id": self.room.id}
        for verb in ("mark_read", "mark_delivered", "mark_listened"):
            for _ in range(2):
                answer = talk.ask(verb, **here, message_ids=[message])
            if verb == "mark_read" and not answer.ok:
                self.room.report.fault("marks-refused", f"mark_read is answered {answer.code!r}: "
                                       "every server needs it")
        for verb in ("pin_message", "unpin_message", "mark_last_read", "get_receipts"):
            talk.ask(verb, **here, message_id=message)
        talk.ask("get_conversations", limit=5, offset=0)
        for verb in ("get_conversation", "get_unread_count"):
            talk.ask(verb, **here)
        talk.ask("get_total_unread_count")


def _users(answer: Answer) -> list[Any] | None:
    message = answer.data.get("message")
    reactions = message.get("reactions") if isinstance(message, dict) else None
    users = reactions.get("\N{THUMBS UP SIGN}") if isinstance(reactions, dict) else None
    return users if isinstance(users, list) else None

"""What happens on the server of the demonstration: a conversation that people hold, and chatter."""

from __future__ import annotations

import json
import random
import socket
import threading
from typing import Any, Optional

#: The reference server's conversation in English, and what it is called in the demonstration.
SEEDED = "项目讨论"
TITLE = "Harbour crew"
#: How far back the message lies that the scene quotes.
FAR_BACK = 700

# (who, text or event, quotes: "far" or how many lines up, reactions, seconds later)
_LINES: list[tuple[str, dict[str, str], Optional[object], dict[str, list[str]], int]] = [
    ("lucie", {"text": "Morning! The boat is ours from Friday to Sunday. Who takes the train?"},
     None, {"🎉": ["jan", "wei", "alice"]}, 90),
    ("jan", {"text": "Me. There is one at 8:14 with a change in Břeclav."}, None, {}, 40),
    ("jan", {"text": "I can buy tickets for everybody who says yes until noon."}, None,
     {"👍": ["lucie", "wei"]}, 20),
    ("lucie", {"event": "lucie changed the picture of the conversation"}, None, {}, 130),
    ("lucie", {"event": "lucie added alice"}, None, {}, 10),
    ("alice", {"event": "alice joined"}, None, {}, 15),
    ("alice", {"text": "Hi all 👋 I have the big stove and two dry bags."}, None,
     {"👍": ["lucie"]}, 60),
    ("wei", {"text": "没问题,我带茶。"}, 1, {}, 45),
    ("eva", {"text": "Yes from me. I will be offline from the tunnel on, but whatever you write "
                     "meanwhile will be there when I come out of it."}, 6, {"😂": ["jan"]}, 200),
    ("lucie", {"text": "This was the pier, by the way. Same place, same time."}, "far",
     {"👀": ["jan", "alice"]}, 300),
    ("jan", {"text": "Oh no. Bring boots, then."}, 1, {}, 30),
    ("wei", {"text": "The forecast for Saturday: 4 Bft from the west, 19 °C, dry until the "
                     "evening. https://example.org/forecast"}, None, {"🙏": ["lucie"]}, 170),
    ("alice", {"text": "Then I leave the stove at home, and we eat in the port."}, None, {}, 60),
    ("lucie", {"text": "Deal."}, 1, {}, 10),
]
_CHATTER = [
    "Does the 8:14 have a dining car?", "I have seen a seal. A real one.", "Back in ten minutes.",
    "Who has the key of the boathouse?", "The bakery opens at six, I asked.",
    "Žluťoučký kůň has arrived in Břeclav.", "明天见!", "Ha, same here.",
    "Can somebody send me the list again?", "Wind has turned. Still fine.",
]


class Speaker:
    """One user's connection to the server, one request after the other."""

    def __init__(self, port: int, user: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._lines = self._socket.makefile("rb")
        self._count = 0
        self.ask({"type": "hello", "user": user})

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Asks, and gives the answer's data; what is pushed meanwhile is not looked at."""
        self._count += 1
        named = {**request, "request_id": f"r{self._count}"}
        self._socket.sendall(json.dumps(named, ensure_ascii=False).encode() + b"\n")
        while line := self._lines.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("request_id") == named["request_id"] or (
                    request["type"] == "hello" and answer.get("type") == "hello"):
                data: dict[str, Any] = answer.get("data") or {}
                return data
        raise ConnectionError("the server has closed the connection")

    def close(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self._socket.close()


def rooms(speaker: Speaker) -> list[dict[str, Any]]:
    """All conversations of the server, with their counts."""
    found: list[dict[str, Any]] = speaker.ask({"type": "admin_conversations"})["conversations"]
    return found


def history(speaker: Speaker, conversation: str, offset: int, limit: int) -> list[dict[str, Any]]:
    """A page of a conversation's messages, counted from the newest."""
    found: Optional[list[dict[str, Any]]] = speaker.ask({
        "type": "get_messages", "conversation_id": conversation, "offset": offset,
        "limit": limit}).get("messages")
    if found is None:
        found = fold(log(speaker, conversation))
        found = found[max(0, len(found) - offset - limit):max(0, len(found) - offset)]
    return found


def log(speaker: Speaker, conversation: str) -> list[dict[str, Any]]:
    """All entries of a conversation, where the server keeps a log."""
    entries: list[dict[str, Any]] = []
    place: dict[str, str] = {}
    while True:
        page = speaker.ask({"type": "get_entries", "conversation_id": conversation,
                            "limit": 1_000, **place})
        entries[:0] = page["entries"]
        if "before" not in page:
            return entries
        place = {"before": page["before"]}


def fold(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages that a log of the reference server has come to."""
    rows = {entry["message_id"]: {**entry, "reactions": {}} for entry in entries
            if "message_id" in entry}
    for entry in entries:
        row, who = rows.get(entry.get("target_id", "")), entry.get("sender_id")
        if row is None:
            continue
        if entry["change"] == "edit":
            row["payload"] = entry["payload"]
        elif entry["change"] == "delete":
            del rows[row["message_id"]]
        elif entry["change"] == "reactions":
            others = {key: [user for user in users if user != who]
                      for key, users in row["reactions"].items()}
            row["reactions"] = others | {
                key: [*others.get(key, []), who] for key in entry["reactions"]}
    return list(rows.values())


def play(port: int, time_passes: bool = False) -> str:
    """Holds the conversation of the scene; gives its id. Minutes lie between its lines where time
    passes for the server alone."""
    admin = Speaker(port, "eva")
    room = next(room for room in rooms(admin) if room["title"] == SEEDED)
    conversation: str = room["conversation_id"]
    admin.ask({"type": "admin_rename", "conversation_id": conversation, "title": TITLE})
    far = history(admin, conversation, min(FAR_BACK, room["message_count"] - 50), 40)
    texts = [row for row in far if len(str(row["payload"])) > 60]
    speakers = {"eva": admin}
    ids: list[str] = []
    for who, payload, quotes, reactions, later in _LINES:
        if who not in speakers:
            admin.ask({"type": "admin_member_add", "conversation_id": conversation, "user": who})
            speakers[who] = Speaker(port, who)
        if time_passes:
            admin.ask({"type": "admin_advance", "over_s": later})
        request = {"type": "send_message", "conversation_id": conversation, "payload": payload,
                   "client_id": f"scene-{len(ids)}"}
        if quotes == "far":
            request["reply_to"] = (texts or far)[0]["message_id"]
        elif isinstance(quotes, int):
            request["reply_to"] = ids[-quotes]
        ids.append(speakers[who].ask(request)["message"]["message_id"])
        for reaction, users in reactions.items():
            for user in users:
                admin.ask({"type": "admin_react", "conversation_id": conversation,
                           "message_id": ids[-1], "user": user, "reaction": reaction})
    for speaker in speakers.values():
        speaker.close()
    return conversation


class Chatter(threading.Thread):
    """People who write now and then, for as long as the demonstration runs."""

    def __init__(self, port: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._seconds = seconds
        self._ended = threading.Event()

    def end(self) -> None:
        """Lets it end."""
        self._ended.set()

    def run(self) -> None:
        try:
            self._talk()
        except OSError:
            # The server was ended: nobody is there to talk to.
            pass

    def _talk(self) -> None:
        dice = random.Random(1)
        admin = Speaker(self._port, "eva")
        speakers: dict[str, Speaker] = {}
        every = rooms(admin)
        favourite = [room for room in every if room["title"] == TITLE]
        while not self._ended.wait(self._seconds * dice.uniform(0.5, 1.5)):
            room = dice.choice(favourite * len(every) + every)
            who = dice.choice([user for user in room["participant_ids"] if user != "eva"])
            conversation = room["conversation_id"]
            admin.ask({"type": "admin_typing", "conversation_id": conversation, "user": who})
            if self._ended.wait(dice.uniform(1.5, 3)):
                return
            if who not in speakers:
                speakers[who] = Speaker(self._port, who)
            speakers[who].ask({
                "type": "send_message", "conversation_id": conversation,
                "payload": {"text": dice.choice(_CHATTER)},
                "client_id": f"chatter-{dice.getrandbits(64):x}"})

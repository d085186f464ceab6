"""A world in virtual time: a server, a network with latency, and the client on its screen. A
session of ten minutes takes seconds, and every frame can be looked at."""

import datetime
import heapq
import itertools
import json
import random

from tideline_terminal.app import ChatApp
from tideline_terminal.session import Session

BEGIN_US = 1_770_000_000_000_000
ROOM = "c1"


def stamp(time_us):
    moment = datetime.datetime.fromtimestamp(time_us // 1_000_000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


class Server:
    """The protocol's first form: pages by offset, `after_ts`, deletions; times of a second."""

    def __init__(self, clock):
        self._clock = clock
        self.rows = []

    def post(self, text, sender="jan", time_us=None, read=False):
        """Takes a message; gives the push that tells of it."""
        row = {"message_id": f"m{len(self.rows):06}", "conversation_id": ROOM,
               "sender_id": sender, "created_at": stamp(time_us or self._clock()),
               "payload": {"text": text}, "read_by": ["eva"] if read else []}
        self.rows.append(row)
        return {"type": "message_new", "conversation_id": ROOM, "message": row}

    def answer(self, request):
        data = getattr(self, request["type"], lambda request: {})(request)
        return {"type": request["type"], "request_id": request["request_id"], "status": "ok",
                "server_time": stamp(self._clock()), "data": data}

    def get_messages(self, request):
        rows = [row for row in self.rows if row["created_at"] > request.get("after_ts", "")]
        last = len(rows) - request.get("offset", 0)
        return {"messages": rows[max(0, last - min(request["limit"], 50)):max(0, last)],
                "total_count": len(self.rows)}

    def get_deleted_since(self, request):
        return {"message_ids": []}

    def get_conversations(self, request):
        return {"conversations": [self.get_conversation(request)["conversation"]],
                "total_count": 1}

    def get_conversation(self, request):
        return {"conversation": {
            "conversation_id": ROOM, "title": "Harbour", "participant_ids": ["eva", "jan"],
            "unread_count": 0, "last_message": self.rows[-1]}}


class World:
    """All of it. Actions stand in a heap by their virtual time in milliseconds."""

    def __init__(self, latency_ms, hold_ms, history=200, seed=1):
        self.now = 0
        self.dice = random.Random(seed)
        self._order = itertools.count()
        self._actions = []
        #: When the client wants time to act.
        self._due = None
        #: Which connection it is: what is on the way is lost with the one it is on.
        self._connection = 0
        self._connected = False
        self._latency_ms = latency_ms
        self.server = Server(lambda: BEGIN_US + self.now * 1_000)
        for number in range(history):
            self.server.post(f"history {number}", read=True,
                             time_us=BEGIN_US - (history - number) * 10**7)
        self.session = Session("eva", hold_ms=hold_ms, clock=lambda: self.now)
        self.app = ChatApp(self.session)
        #: Called with the world after each frame.
        self.on_frame = lambda world: None

    # What is planned.

    def at(self, time, action, *arguments):
        """Lets something happen at a time."""
        heapq.heappush(self._actions, (time, next(self._order), action, arguments))

    def connect(self):
        """The connection stands, from now on."""
        self._connection += 1
        self._connected = True
        self.session.client.connected()

    def disconnect(self):
        """It breaks: what is on the way is lost."""
        self._connected = False
        self.session.client.disconnected()

    def post(self, text):
        """Somebody writes; whoever is connected is told."""
        push = self.server.post(text)
        if self._connected:
            self.at(self.now + self._latency_ms // 2, self._arrive, self._connection, push)

    def _ask(self, connection, request):
        """A request reaches the server."""
        if self._connected and connection == self._connection:
            answer = self.server.answer(request)
            self.at(self.now + self._latency_ms // 2, self._arrive, connection, answer)

    def _arrive(self, connection, frame):
        """A frame reaches the client."""
        if self._connected and connection == self._connection:
            self.session.client.receive(json.dumps(frame))

    # What happens.

    def turn(self):
        """The client runs its timers, sends all that it has and draws a frame."""
        client = self.session.client
        wait = client.advance()
        # A timer may have made requests: a host's event descriptor would be readable now.
        while frames := list(client.frames()):
            for frame in frames:
                client.frame_sent(frame.id)
                self.at(self.now + self._latency_ms // 2, self._ask, self._connection,
                        json.loads(frame.bytes))
            wait = client.advance()
        self._due = None if wait is None else self.now + max(1, wait)
        self.app.news()
        self.on_frame(self)

    def _next(self):
        """When something happens next, be it only that time acts on the client."""
        times = [time for time, *_ in self._actions[:1]]
        return min([*times, *([] if self._due is None else [self._due])], default=1 << 62)

    def run(self, until):
        """Everything up to a time, one thing after the other."""
        self.turn()
        while (time := self._next()) <= until:
            self.now = time
            if self._actions and self._actions[0][0] <= time:
                _, _, action, arguments = heapq.heappop(self._actions)
                action(*arguments)
            self.turn()
        self.now = until
        self.turn()

    def drawn(self):
        """What the pane of messages shows now, as text."""
        pane = self.app.messages
        return [pane.render_line(y).text.rstrip() for y in range(pane.size.height)]

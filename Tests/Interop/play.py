"""What the run has at hand: adapters that are used again, checks, and what is compared."""
import json

import tideline
from expected import EXPECTED
from story import Carried
from tideline import MessageState

KEY = bytes(range(tideline.KEY_BYTES))


class Lease:
    """An adapter that goes back where it came from when its connection ends."""

    def __init__(self, pool, adapter):
        self.pool, self.adapter = pool, adapter

    def send(self, frame):
        self.adapter.send(frame)

    def receive(self, timeout_s):
        try:
            return self.adapter.receive(timeout_s)
        except OSError:
            self.pool.broken.add(id(self.adapter))
            raise

    def close(self):
        self.pool.give(self.adapter)


class Pool:
    """A person whose connections keep their mirrors: to read 6,000 entries anew for each of a
    hundred connections would show nothing more. ``drop`` begins anew."""

    def __init__(self, person):
        self.person, self.id, self.free, self.broken, self.turn = person, person.id, [], set(), 0

    def adapter(self):
        made = self.free.pop() if self.free else self.person.adapter()
        made.turn = self.turn
        for name in list(made.rooms):
            # A new connection is told of nothing that came before it.
            made.send(json.dumps({"type": "subscribe", "request_id": "pool",
                                  "conversation_id": name}).encode())
        made.queue.clear()
        return Lease(self, made)

    def give(self, adapter):
        if adapter.turn == self.turn and id(adapter) not in self.broken:
            self.free.append(adapter)
        else:
            adapter.close()

    def drop(self):
        self.turn += 1
        while self.free:
            self.free.pop().close()


class Host(Carried):
    """A client whose answers and requests can be lost."""

    def __init__(self, person, profile, path):
        super().__init__(person, profile, path, KEY)
        self.limits, self.doomed, self.lost = [], {}, 0

    def carry(self, frame):
        want = json.loads(frame.bytes)
        if want["type"] in ("get_messages", "get_entries"):
            self.limits.append(want["limit"])
        reaches = self.doomed.pop(want.get("client_id"), None)
        if reaches is False:
            self.client.frame_sent(frame.id)
        else:
            super().carry(frame)
        if reaches is not None:
            # The connection breaks before the answer has come.
            self.lost += 1
            self.connect()

    def counted(self):
        """Requests since the last time, by verb, and the largest page that was asked for."""
        asked, largest = self.asked, max(self.limits, default=0)
        self.asked, self.limits = {}, []
        return asked, largest

    def lose(self, text, room, reaches):
        """Sends, and loses the answer, or the request with it."""
        self.doomed[text] = reaches
        self.client.send(room, text, client_id=text)
        self.settle()


class Lines:
    """The lines of the run: what has to hold, and figures."""

    def __init__(self, kind, is_full):
        self.kind, self.is_full, self.right, self.expected, self.wrong = kind, is_full, 0, [], []

    def check(self, name, is_right, more=""):
        known = EXPECTED.get(f"{self.kind}: {name}", EXPECTED.get(name))
        if is_right and (known is None or not self.is_full):
            self.right, said = self.right + 1, "right"
        elif is_right:
            self.wrong.append(name)
            said = "HOLDS, take it off the list of what is expected"
        elif known is not None:
            self.expected.append(name)
            said = f"expected with the time scheme: {known}"
        else:
            self.wrong.append(name)
            said = "WRONG"
        print(f"{name}: {said} {more}".rstrip(), flush=True)

    def figure(self, name, value):
        print(f"{name}: {value}", flush=True)


def difference(shown, truth):
    """In what two lists of pairs differ: lost, ghosts, doubled, otherwise in content or order."""
    ids, wanted = [key for key, _ in shown], [key for key, _ in truth]
    texts = dict(truth)
    found = {
        "lost": len(set(wanted) - set(ids)), "ghosts": len(set(ids) - set(wanted)),
        "doubled": len(ids) - len(set(ids)),
        "content": sum(key in texts and texts[key] != text for key, text in shown)}
    common = set(ids) & set(wanted)
    found["order"] = int([key for key in ids if key in common] !=
                         [key for key in wanted if key in common])
    return {name: count for name, count in found.items() if count}


def false_claims(client, room, truth):
    """Neighbours on the screen without a gap between them, between which the room has more. What is
    not in the room any more, and what is not confirmed, is passed over."""
    place = {key: at for at, (key, _) in enumerate(truth)}
    page, false, last, is_split = client.messages(room, limit=10_000), [], None, False
    gaps = {gap.before_row for gap in page.coverage.gaps}
    for at, row in enumerate(page.messages):
        is_split = is_split or at in gaps
        if row.state != MessageState.CONFIRMED or row.id not in place:
            continue
        if last is not None and not is_split and place[row.id] != last + 1:
            false.append((row.id, place[row.id], last))
        last, is_split = place[row.id], False
    if page.coverage.whole and page.coverage.stop == tideline.Stop.START and page.messages:
        first = next((row.id for row in page.messages if row.id in place), None)
        if first is not None and place[first] != 0:
            false.append((first, place[first], -1))
    return false

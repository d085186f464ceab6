"""What the run has at hand: a client whose answers are lost, checks, and what is compared."""
import json

import server
import tideline
from expected import EXPECTED
from story import Carried
from tideline import MessageState

KEY = bytes(range(tideline.KEY_BYTES))
PAGES = "get_entries", "get_messages"
# What the server has nothing for: "edit", "react", "purge", "backdate".
LACKS = getattr(server, "LACKS", frozenset())


class Host(Carried):
    """A client whose answers and requests can be lost."""

    def __init__(self, person, profile, path):
        super().__init__(person, profile, path, KEY)
        self.limits, self.doomed, self.lost = [], {}, 0

    def carry(self, frame):
        want = json.loads(frame.bytes)
        if want["type"] in PAGES:
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
        self.sums, self.most = dict.fromkeys(("lost", "ghosts", "doubled", "false claims"), 0), 0

    def note(self, found):
        """Adds up what must not be."""
        for name in self.sums.keys() & found.keys():
            self.sums[name] += found[name]

    def check(self, name, is_right, more=""):
        known = EXPECTED.get(f"{self.kind}: {name}", EXPECTED.get(name))
        if is_right and (known is None or not self.is_full):
            self.right, said = self.right + 1, "right"
        elif is_right:
            self.wrong.append(name)
            said = "HOLDS, take it off the list of what is expected"
        elif known is not None:
            self.expected.append(name)
            said = f"expected: {known}"
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


def false_claims(client, room, truth, is_fresh=False):
    """Neighbours on the screen without a gap between them, between which the room has more. Where
    the client has just caught up, so is what the room has not, unless the row says that it is not
    verified; before it did, that is passed over. So is what is not confirmed."""
    place = {key: at for at, (key, _) in enumerate(truth)}
    page, false, last, is_split = client.messages(room, limit=10_000), [], None, False
    gaps = {gap.before_row for gap in page.coverage.gaps}
    for at, row in enumerate(page.messages):
        is_split = is_split or at in gaps
        if row.state != MessageState.CONFIRMED or tideline.MessageFlags.DELETED in row.flags:
            continue
        if row.id not in place:
            if is_fresh and tideline.MessageFlags.UNVERIFIED not in row.flags:
                false.append((row.id, None, last))
            continue
        if last is not None and not is_split and place[row.id] != last + 1:
            false.append((row.id, place[row.id], last))
        last, is_split = place[row.id], False
    if page.coverage.whole and page.coverage.stop == tideline.Stop.START and page.messages:
        first = next((row.id for row in page.messages if row.id in place), None)
        if first is not None and place[first] != 0:
            false.append((first, place[first], -1))
    return false

"""Pages of an adapter to a log against the list of its server: `make nats`, `make jmap`.

    places.py FOLDER

A room has holes, where single messages were removed. From every message, and from each side of it,
pages of five sizes are asked for, both ways and around. Each has to be the piece of the list that
it is, and may claim the start and the present only where it reaches them. What is gone, and what
nobody gave, is refused. Then an older copy of the server's files is put back, and a send of after
that copy is repeated: its old place is refused, though the server has the message again. Which
server it is says PYTHONPATH, as for examples/adapted/try.py.
"""
import json
import pathlib
import random
import shutil
import sys
import time

from server import NAME, Person, Server

SIZES, MESSAGES, GONE = (1, 2, 3, 7, 100), 60, 30
NOBODY_GAVE = ("", "x", "<", ">>", "<1", "<-1-2-eva", ">0-0-", "<a b.c", ">\N{SNOWMAN}",
               ">" + "9" * 30 + "-1-eva", ">" + "9" * 2_000)


class Places:
    def __init__(self, server):
        self.asked, self.wrong = 0, 0
        jan, eva = Person(server, "jan"), Person(server, "eva")
        self.room, dice = jan.found("Harbour", [eva]), random.Random(5)
        keys = jan.say(self.room, [str(number) for number in range(MESSAGES)])
        # The first, the last but one, a long piece, and others here and there.
        gone = {0, MESSAGES - 2, *range(20, 35), *dice.sample(range(MESSAGES - 1), GONE - 17)}
        self.gone = [keys[at] for at in sorted(gone)]
        server.remove(self.room, self.gone)
        self.left = [key for key in keys if key not in self.gone]
        self.server, self.jan, self.eva = server, jan, eva
        self.adapter = eva.adapter()

    def ask(self, limit, **where):
        """The data of a page, or the code of an error."""
        self.adapter.send(json.dumps({"type": "get_entries", "request_id": "1", "limit": limit,
                                      "conversation_id": self.room, **where}).encode())
        answer = json.loads(self.adapter.receive(0.1))
        self.asked += 1
        return answer["data"] if answer["status"] == "ok" else answer["error"]["code"]

    def check(self, is_right, *what):
        if not is_right:
            self.wrong += 1
            print("WRONG", *what, flush=True)

    def page(self, wanted, limit, is_start=False, **where):
        """A page is this piece of the list, and says what it reaches."""
        made = self.ask(limit, **where)
        is_page = not isinstance(made, str)
        found = [each["message_id"] for each in made["entries"]] if is_page else []
        starts = is_start or bool(wanted) and wanted[0] == self.left[0]
        self.check(is_page and found == wanted and ("before" in made) != starts and (
            not made["present"] or not wanted or wanted[-1] == self.left[-1]), limit, where, made)

    def around(self, key, limit):
        made = self.ask(limit, around_id=key)
        found = [] if isinstance(made, str) else [each["message_id"] for each in made["entries"]]
        at = self.left.index(found[0]) if found else 0
        self.check(key in found and found == self.left[at:at + len(found)] and len(found) <= limit
                   and ("before" in made or at == 0)
                   and (not made["present"] or found[-1] == self.left[-1]), limit, key, made)

    def run(self):
        left = self.left
        for limit in SIZES:
            self.page(left[-limit:], limit)
            self.page(left[:limit], limit, after=">", is_start=True)
            for at, key in enumerate(left):
                self.page(left[max(0, at - limit):at], limit, before=f"<{key}", is_start=at == 0)
                self.page(left[max(0, at + 1 - limit):at + 1], limit, before=f">{key}")
                self.page(left[at:at + limit], limit, after=f"<{key}")
                self.page(left[at + 1:at + 1 + limit], limit, after=f">{key}")
                self.around(key, limit)
        self.refused(NOBODY_GAVE, NOBODY_GAVE)
        self.refused([side + key for key in self.gone for side in "<>"], self.gone)

    def refused(self, tokens, keys):
        for token in tokens:
            for side in "before", "after":
                made = self.ask(5, **{side: token})
                self.check(made == "unknown_cursor", side, token[:80], made)
        for key in keys:
            made = self.ask(5, around_id=key)
            self.check(made == "not_found", key[:80], made)

    def send(self):
        self.adapter.send(json.dumps({
            "type": "send_message", "request_id": "1", "conversation_id": self.room,
            "client_id": "again", "payload": "again"}).encode())
        while (frame := json.loads(self.adapter.receive(1)))["type"] != "send_message":
            pass
        return frame["data"]["message"]["message_id"]

    def put(self, copied, folder):
        """Puts a copy of the server's files in their place, while it is away."""
        self.adapter.close()
        self.server.end()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(copied, folder)
        self.server.start()
        self.jan.enter(self.room)
        self.adapter = self.eva.adapter()

    def restore(self, now, older):
        self.put(now, older)
        old, second = self.send(), int(time.time())
        self.put(older, now)
        self.left += self.jan.say(self.room, ["while it was away"] * 2)
        while int(time.time()) == second:  # A time of arrival may have whole seconds.
            time.sleep(0.1)
        new = self.send()
        self.left.append(new)
        self.check(new != old, old)
        self.refused(["<" + old, ">" + old], [old])
        self.page(self.left[-8:-1], 7, before=f"<{new}")
        self.adapter.close()
        self.jan.close()
        self.eva.close()


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    server = Server(folder / "now")
    try:
        places = Places(server)
        places.run()
        places.restore(folder / "now", folder / "older")
    finally:
        server.end()
    print(f"places: {NAME}: {places.asked} pages, {places.wrong} wrong")
    return int(places.wrong > 0)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))

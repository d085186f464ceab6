"""A private server on this machine, a room in it, and a client that is carried by the adapter.

    try.py FOLDER [terminal]

FOLDER keeps the server's files. What the client shows is held against what was sent, edited and
redacted; then the probe looks at the adapter. The last line sums what was checked. With `terminal`
the room is filled and the client in the terminal opened on it. Which server it is says PYTHONPATH:
the folder beside this one that has `adapter.py` and `server.py`.
"""
import json
import pathlib
import sys

import tideline
from bridge import Bridge, chat
from server import NAME, PROFILE, Person, Server
from story import Carried, Story
from tideline.probe import Level, Setup, probe
from tideline.probe.fitting import differences
from tideline.probe.link import dialer


class Trial:
    """What is checked, and how it went."""

    def __init__(self, server):
        self.passed, self.failed, self.server = 0, 0, server
        self.jan, self.eva = Person(server, "jan"), Person(server, "eva")
        self.room = self.jan.found("Harbour", [self.eva])
        self.story = Story(server, self.jan, self.room)

    def check(self, name, is_right):
        self.passed, self.failed = self.passed + bool(is_right), self.failed + (not is_right)
        print(f"{name}: {'right' if is_right else 'WRONG'}", flush=True)

    def fill(self, count):
        """Jan writes, and edits, redacts and reacts to some of it."""
        story = self.story
        story.say(count)
        keys = story.theirs()
        story.edit(keys[7::29])
        story.redact(keys[5::31])
        story.react(story.theirs()[3::17], f"{count}")

    def compare(self, name, host):
        rows, is_whole = host.shown(self.room)
        self.check(f"{name}, {len(rows)} messages", is_whole and rows == self.story.truth())

    def newest(self, host):
        return [row for row in host.client.messages(self.room, limit=20).messages
                if tideline.MessageFlags.DELETED not in row.flags][-1]

    def send(self, host, text):
        made = host.client.send(self.room, text, client_id=f"key-{text}".replace(" ", "-"))
        self.story.sent(f"key-{text}".replace(" ", "-"), text)
        return made

    def read(self, host):
        """Rooms are listed, cached and scrolled; the process dies between two turns."""
        host.sync("", tideline.SyncKind.CONVERSATIONS)
        rows = tideline.Rows(host.client.conversation_list())
        rows.poll()
        self.check("the room is listed", "harbour" in [
            str(row.title).lower() for row in rows.conversations])
        rows.window.close()
        host.sync(self.room)
        host.scroll(self.room)
        self.compare("caught up and scrolled", host)

    def write(self, host, turn):
        """What the user does takes effect once, and is confirmed."""
        self.send(host, f"from Eva {turn}")
        host.settle()
        self.compare("a message of her own", host)
        row, client = self.newest(host), host.client
        client.perform({"type": "edit_message", "conversation_id": self.room,
                        "message_id": row.id, "payload": f"edited by Eva {turn}"})
        for verb, key in (("react_message", "+"), ("react_message", "!"), ("unreact_message", "+")):
            client.perform({"type": verb, "conversation_id": self.room, "message_id": row.id,
                            "reaction": key})
        host.settle()
        self.story.own[row.client_id] = f"edited by Eva {turn}"
        self.compare("an edit of it", host)
        long = f"long {turn} " * 4_000
        client.perform({"type": "edit_message", "conversation_id": self.room,
                        "message_id": row.id, "payload": long})
        host.settle()
        self.story.own[row.client_id] = long
        self.compare("an edit of a long text", host)
        self.check("a reaction, and one that is taken back",
                   self.newest(host).reactions == (tideline.Reaction("!", (self.eva.id,)),))
        self.send(host, f"taken back {turn}")
        host.settle()
        client.perform({"type": "delete_message", "conversation_id": self.room,
                        "message_id": self.newest(host).id})
        host.settle()
        self.compare("a message that she takes back", host)

    def lose(self, host, turn):
        """The answer to a send is lost with its connection."""
        self.send(host, f"unanswered {turn}")
        for frame in host.client.frames():
            host.carry(frame)
        host.connect()
        host.sync(self.room)
        host.settle()
        self.compare("a send whose answer was lost", host)
        self.check("it was sent once", not self.story.doubled())

    def hear(self, host):
        """Pushes: a message, an edit, a reaction, a receipt, a deletion."""
        self.story.say(1)
        key = self.story.theirs()[-1]
        self.check("a message that is pushed", host.wait_for(
            lambda: self.newest(host).id == key))
        self.story.edit([key])
        self.check("an edit that is pushed", host.wait_for(
            lambda: self.newest(host).json == self.story.texts[key]))
        self.story.react([key])
        self.check("a reaction that is pushed", host.wait_for(
            lambda: self.newest(host).reactions == (
                tideline.Reaction("+", (self.jan.id,)),)))
        self.jan.read(self.room, key)
        self.check("a receipt that is pushed", host.wait_for(
            lambda: tideline.Reader(self.jan.id) in self.newest(host).read_by))
        host.client.mark_read(self.room, [key])
        host.settle()
        host.sync(self.room)
        host.sync("", tideline.SyncKind.CONVERSATIONS)
        rows = tideline.Rows(host.client.conversation_list())
        rows.poll()
        self.check("nothing is unread", [row.unread for row in rows.conversations] == [0])
        rows.window.close()
        self.story.redact([key])
        self.check("a deletion that is pushed", host.wait_for(
            lambda: self.newest(host).id != key))
        self.compare("after all that", host)

    def mark(self, host):
        """Marks that are made offline reach the server for the last of them."""
        self.story.say(10)
        keys = self.story.theirs()[-10:]
        host.wait_for(lambda: self.newest(host).id == keys[-1])
        host.disconnect()
        host.client.mark_read(self.room, keys)
        host.connect()
        host.sync(self.room)
        host.sync("", tideline.SyncKind.CONVERSATIONS)
        rows = tideline.Rows(host.client.conversation_list())
        rows.poll()
        self.check("nothing is unread after marks made offline",
                   [row.unread for row in rows.conversations] == [0])
        rows.window.close()

    def run(self, folder):
        path = folder / "eva.tideline"
        for turn, count in enumerate((330, 60, 5)):
            self.fill(count)
            host = Carried(self.eva, PROFILE, path, bytes(range(tideline.KEY_BYTES)))
            host.connect()
            self.read(host)
            self.write(host, turn)
            self.lose(host, turn)
            self.hear(host)
            self.mark(host)
            host.close()

    def look(self):
        """What the probe says of the adapter."""
        scratch = self.eva.found("Scratch", [])
        bridge = Bridge(self.eva.adapter)
        report = probe(Setup(
            dial=dialer(f"tcp://127.0.0.1:{bridge.port}"), hello=('{"type":"hello"}',),
            conversation=scratch, messages=40))
        bridge.close()
        for found in [*report.of(Level.FAULT), *report.of(Level.TRAP)]:
            print(f"the probe says: {found.name}: {found.text}")
        self.check("the probe finds no fault", not report.of(Level.FAULT))
        for line in differences(report, PROFILE):
            print(f"the probe says: {line}")
        self.check("the profile fits", not differences(report, PROFILE))


def main(folder, wish):
    server = Server(folder)
    try:
        trial = Trial(server)
    except BaseException:
        server.end()
        raise
    try:
        if wish == "terminal":
            trial.fill(600)
            chat(trial.story, trial.eva, PROFILE, folder / "terminal.tideline")
            return 0
        trial.run(folder)
        trial.look()
    finally:
        trial.eva.close()
        trial.jan.close()
        server.end()
    print(f"{NAME}: {trial.passed} passed, {trial.failed} failed")
    return int(trial.failed > 0)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), (sys.argv[2:] or [""])[0]))

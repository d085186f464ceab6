"""What tests of the client in a pseudo-terminal have in common."""

import pathlib
import tempfile
import unittest

from terminal import Terminal, program
from tideline_terminal.scene import TITLE, Speaker, history, play
from tideline_terminal.server import Server

WORLD = ("--seed", "3", "--messages", "9000", "--conversations", "16")


class Life(unittest.TestCase):
    """Each test has a server with its world, and a file for the client. ``KIND`` is ``--log`` where
    the server keeps a log, said to both."""

    KIND = ()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.options = [*WORLD, *self.KIND, "--db", str(self.folder / "server.db")]
        self.server = Server(program(), self.options)
        self.addCleanup(lambda: self.server.kill())
        self.conversation = play(self.server.port)
        self.admin = Speaker(self.server.port, "eva")
        self.addCleanup(lambda: self.admin.close())

    def start(self, *options):
        terminal = Terminal(self.server.port, self.folder / "eva.tideline", "--conversation",
                            TITLE, *self.KIND, *options)
        self.addCleanup(terminal.kill)
        return terminal

    def opened(self, *options):
        """The client with the newest messages on its screen."""
        terminal = self.start(*options)
        terminal.until_text("up to date")
        # It opens where the user left off, which may be above what is new.
        terminal.until(lambda t: "▎" in "\n".join(t.messages), "messages")
        terminal.press("ctrl+l")
        terminal.until(lambda t: "Deal." in "\n".join(t.messages), "the newest message")
        return terminal

    def select(self, terminal, text):
        """Goes up to a message, from the composer."""
        return self.select_line(terminal, lambda line: line.startswith(f"▎  {text}"), text)

    def select_line(self, terminal, is_it, text):
        """Goes up until a line that is selected is the one that is meant."""
        terminal.press("escape")
        terminal.until(lambda t: self.selected(t), "a message that is selected")
        for _ in range(40):
            # A frame may come in pieces, and half of it shows another selection.
            terminal.until_still()
            before = self.selected(terminal)
            if any(is_it(line) for line in before):
                return before
            terminal.press("up")
            terminal.until(lambda t: self.selected(t) != before, "another one that is selected")
        raise AssertionError(f"no message: {text}\n{terminal.text}")

    def post(self, text, who="jan"):
        speaker = Speaker(self.server.port, who)
        speaker.ask({"type": "send_message", "conversation_id": self.conversation,
                     "payload": {"text": text}, "client_id": f"test {text}"})
        speaker.close()

    def kill_server(self):
        self.admin.close()
        self.server.kill()

    def start_server(self):
        self.server = Server(program(), self.options, self.server.port)
        self.admin = Speaker(self.server.port, "eva")

    def texts(self, text):
        """The server's newest messages that say a text."""
        rows = history(self.admin, self.conversation, 0, 50)
        return [row for row in rows if row["payload"].get("text") == text]

    @staticmethod
    def selected(terminal):
        """The lines of the entry that is selected, told by their ground."""
        found = []
        for at in range(2, terminal.screen.lines - 6):
            cell = terminal.screen.buffer[at][terminal.screen.columns - 2]
            if cell.bg == "263149":
                found.append(terminal.main[at])
        return found

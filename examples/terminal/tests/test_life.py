"""The client as a person uses it, in a pseudo-terminal, against a server that runs."""

import pathlib
import tempfile
import unittest

from terminal import Terminal, program
from tideline_terminal.scene import TITLE, Speaker, history, play
from tideline_terminal.server import Server

WORLD = ("--seed", "3", "--messages", "9000", "--conversations", "16")


class Life(unittest.TestCase):
    """Each test has a server with its world, and a file for the client."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.options = [*WORLD, "--db", str(self.folder / "server.db")]
        self.server = Server(program(), self.options)
        self.addCleanup(lambda: self.server.kill())
        self.conversation = play(self.server.port)
        self.admin = Speaker(self.server.port, "eva")
        self.addCleanup(lambda: self.admin.close())

    def start(self, *options):
        terminal = Terminal(self.server.port, self.folder / "eva.tideline", "--conversation",
                            TITLE, *options)
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
        terminal.press("escape")
        terminal.until(lambda t: self.selected(t), "a message that is selected")
        for _ in range(40):
            before = self.selected(terminal)
            if any(line.startswith(f"▎  {text}") for line in before):
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

    def test_offline_and_back(self):
        terminal = self.opened()
        terminal.press("ctrl+o")
        terminal.until_text("offline by choice")
        self.post("while you were away")
        terminal.press("written in the tunnel", "enter")
        terminal.until_text("waits to be sent")
        self.assertNotIn("while you were away", terminal.text)
        terminal.press("ctrl+o")
        terminal.until(lambda t: any("while you were away" in line for line in t.messages)
                       and "waits to be sent" not in t.text and "up to date" in t.text,
                       "both messages")
        texts = [message["payload"].get("text")
                 for message in history(self.admin, self.conversation, 0, 2)]
        self.assertEqual(texts, ["while you were away", "written in the tunnel"])

    def test_restart_shows_the_same_without_a_server(self):
        terminal = self.opened()
        terminal.press("half a draft")
        terminal.until_text("half a draft")
        terminal.until_still()
        before = terminal.messages
        self.assertIn("Deal.", "\n".join(before))
        terminal.quit()
        self.kill_server()
        again = self.start()
        again.until_text("no connection")
        again.until_text("half a draft")
        again.press("ctrl+l")
        again.until(lambda t: t.messages == before, "the same messages:\n" + "\n".join(before))
        self.assertIn("100 % of", again.text)
        self.assertIn(" 0 requests", again.text)

    def test_send_with_the_server_killed(self):
        terminal = self.opened()
        self.kill_server()
        terminal.until_text("no connection")
        terminal.press("is anybody there?", "enter")
        terminal.until_text("waits to be sent")
        terminal.kill()
        again = self.start()
        again.until_text("no connection")
        again.press("ctrl+l")
        again.until(lambda t: "is anybody there?" in t.text and "waits to be sent" in t.text,
                    "the message after a crash of the client")
        self.start_server()
        again.until(lambda t: "is anybody there? ✓" in t.text and "waits to be sent" not in t.text,
                    "the message as sent")
        rows = history(self.admin, self.conversation, 0, 50)
        sent = [row for row in rows if row["payload"].get("text") == "is anybody there?"]
        self.assertEqual(len(sent), 1)

    def test_jump_far_back_and_return(self):
        terminal = self.opened()
        before = self.select(terminal, "This was the pier")
        terminal.press("enter")
        terminal.until_text("b goes back")
        terminal.until(lambda t: self.selected(t) and "Deal." not in "\n".join(t.messages)
                       and self.selected(t) != before, "the message that was quoted")
        rows = history(self.admin, self.conversation, 0, 1_000)
        quoting = next(row for row in rows
                       if row["payload"].get("text", "").startswith("This was the pier"))
        quoted = next(row for row in rows if row["message_id"] == quoting["reply_to"])
        words = " ".join(" ".join(self.selected(terminal)).replace("▎", " ").split())
        self.assertIn(" ".join(quoted["payload"]["text"].split())[:40], words)
        terminal.press("b")
        terminal.until(lambda t: any(line.startswith("▎  This was the pier")
                                     for line in self.selected(t)),
                       "where the jump began")
        # What it quotes is known now, and is shown.
        self.assertIn("message that is not here", "\n".join(before))
        self.assertNotIn("message that is not here", "\n".join(self.selected(terminal)))
        self.assertNotIn("b goes back", terminal.text)

    @staticmethod
    def selected(terminal):
        """The lines of the entry that is selected, told by their ground."""
        found = []
        for at in range(2, terminal.screen.lines - 6):
            cell = terminal.screen.buffer[at][terminal.screen.columns - 2]
            if cell.bg == "263149":
                found.append(terminal.main[at])
        return found

    def test_scroll_back_through_a_gap(self):
        """A jump leaves a gap; who scrolls up from the newest messages fills it and goes on."""
        terminal = self.opened()
        before = self.select(terminal, "This was the pier")
        terminal.press("enter")
        terminal.until(lambda t: self.selected(t) and "Deal." not in "\n".join(t.messages)
                       and self.selected(t) != before, "the message that was quoted")
        for _ in range(60):
            if "messages may be missing" in "\n".join(terminal.messages):
                break
            shown = terminal.messages
            terminal.press("pagedown")
            terminal.until(lambda t: t.messages != shown, "newer messages")
        self.assertIn("messages may be missing", "\n".join(terminal.messages))
        below = self.below_gap(terminal)
        self.assertTrue(below)
        terminal.press("g")
        terminal.until(lambda t: not any(
            word in "\n".join(t.messages) for word in ("missing", "loading")), "the gap filled")
        # What stood below the gap stands where it stood: what came pushed older ones up.
        now = terminal.messages
        self.assertEqual({at: now[at] for at in below}, below)

    @staticmethod
    def below_gap(terminal):
        """The lines of messages below the gap, by their place."""
        lines = terminal.messages
        gap = next(at for at, line in enumerate(lines) if "messages may be missing" in line)
        return {at: line for at, line in enumerate(lines) if at > gap and "▎" in line}

    def test_two_hundred_messages_a_second_while_scrolling(self):
        """What is read stays where it is while messages come below; at the end they are there."""
        terminal = self.opened()
        self.select(terminal, "Morning!")
        terminal.press("pageup")
        terminal.until(lambda t: "Deal." not in "\n".join(t.messages), "older messages")
        for turn in range(15):
            # 200 messages in each second of the server's.
            self.admin.ask({"type": "admin_post", "conversation_id": self.conversation,
                            "count": 200, "over_s": 1})
            terminal.press("up" if turn % 2 else "down")
            terminal.read(0.05)
        self.post("the last of three thousand")
        terminal.until_still()
        terminal.press("ctrl+l")
        terminal.until(lambda t: "the last of three thousand" in "\n".join(t.messages),
                       "the newest message")
        count = len(history(self.admin, self.conversation, 0, 10_000))
        self.assertGreater(count, 3_000)
        terminal.until_text("nothing missing" if "gap" not in terminal.text else "on the server")


if __name__ == "__main__":
    unittest.main()

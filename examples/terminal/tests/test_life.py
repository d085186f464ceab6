"""The client as a person uses it, in a pseudo-terminal, against a server that runs."""

import unittest

from life import Life
from tideline_terminal.scene import history


class Screens(Life):
    """What a person sees through what happens to a connection."""

    #: What is told beside a gap.
    COUNTED = "on the server"

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
        self.assertEqual(len(self.texts("is anybody there?")), 1)

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
        # Before it came, the end is that of an earlier message.
        terminal.until(lambda t: "jan: the last of three" in t.text, "the message in the list")
        terminal.press("ctrl+l")
        terminal.until(lambda t: "the last of three thousand" in "\n".join(t.messages),
                       "the newest message")
        count = len(history(self.admin, self.conversation, 0, 10_000))
        self.assertGreater(count, 3_000)
        terminal.until_text("nothing missing" if "gap" not in terminal.text else self.COUNTED)


if __name__ == "__main__":
    unittest.main()

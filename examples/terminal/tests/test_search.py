"""The search box, in a pseudo-terminal: hits as one types, and the conversation opened at one."""

import unittest

from life import Life


def shown(terminal, text):
    """Whether a message on the screen says it; hits are drawn in another way."""
    return any(line.startswith(f"▎  {text}") for line in terminal.messages)


class Finding(Life):
    def chosen(self, terminal):
        """The line of the hit that is chosen, told by its ground."""
        for at in range(4, 12):
            cell = terminal.screen.buffer[at][terminal.screen.columns - 2]
            if cell.bg == "263149":
                return terminal.main[at]
        return ""

    def fill(self, count):
        self.admin.ask({"type": "admin_post", "conversation_id": self.conversation,
                        "count": count})

    def test_hits_open_the_conversation_and_it_goes_both_ways(self):
        terminal = self.opened()
        self.post("Příliš tichý vrabčák jedna")
        self.post("stands right behind it")
        self.fill(150)
        self.post("tichý vrabčák dva")
        terminal.until(lambda t: shown(t, "tichý vrabčák dva"), "the newest message")

        terminal.press("ctrl+f")
        terminal.until_text("the beginning of a word")
        # Without marks, and the last word only begun.
        terminal.press("tichy vrabc")
        terminal.until(lambda t: "vrabčák dva" in self.chosen(t), "the newest hit first")
        self.assertTrue(any("vrabčák jedna" in line for line in terminal.main[:12]))
        # An older one: the window opens there, far above what was loaded.
        terminal.press("down")
        terminal.until(lambda t: "vrabčák jedna" in self.chosen(t), "the older hit chosen")
        terminal.press("enter")
        terminal.until(lambda t: shown(t, "Příliš tichý vrabčák jedna"), "the message")
        self.assertTrue(shown(terminal, "stands right behind it"))
        self.assertFalse(shown(terminal, "tichý vrabčák dva"))
        # From there in the messages it goes both ways.
        terminal.press("escape")
        terminal.until(lambda t: "tichy vrabc" not in t.text, "the box closed")
        terminal.press("down")
        terminal.until(lambda t: any(
            "stands right behind it" in line for line in self.selected(t)), "the next one")
        terminal.press("up", "up")
        terminal.until(lambda t: self.selected(t) and not any(
            "stands right" in line for line in self.selected(t)), "the one before")
        # And to the newer hit. The box begins empty.
        terminal.press("ctrl+f")
        terminal.until_text("the beginning of a word")
        self.assertNotIn("tichy vrabc", terminal.text)
        terminal.press("tichy vrabc")
        terminal.until(lambda t: "vrabčák dva" in self.chosen(t), "the newest hit first")
        terminal.press("enter")
        terminal.until(lambda t: shown(t, "tichý vrabčák dva"), "the newer message")
        self.assertFalse(shown(terminal, "Příliš tichý vrabčák jedna"))

    def test_what_was_stored_before_is_found_and_what_was_not_is_said(self):
        terminal = self.opened()
        terminal.press("ctrl+f", "deal")
        terminal.until(lambda t: "Deal." in self.chosen(t), "a message that was there")
        self.assertIn("something is not here", terminal.text)
        terminal.press(" nowhere")
        terminal.until_text("0 found")
        terminal.press("escape")
        terminal.until(lambda t: "0 found" not in t.text, "the box closed")
        terminal.press("ctrl+f")
        terminal.until_text("the beginning of a word")
        terminal.quit()


if __name__ == "__main__":
    unittest.main()

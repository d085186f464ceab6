"""What a person does to messages, in a pseudo-terminal, and what the server has of it after."""

import unittest

from life import Life


def shown(terminal, text):
    return any(text in line for line in terminal.messages)


class Acts(Life):
    """Edit, delete, retry, react; groups that open."""

    def send(self, terminal, text):
        terminal.press(text, "enter")
        terminal.until(lambda t: shown(t, f"{text} ✓"), f"{text} as sent")

    def test_edit(self):
        terminal = self.opened()
        self.send(terminal, "see you at the peer")
        self.select(terminal, "see you at the peer")
        terminal.press("e")
        terminal.until_text("Editing:")
        terminal.until(lambda t: t.composer == "see you at the peer", "the text to edit")
        # Letters overtake other keys where all come at once.
        terminal.press(*["backspace"] * 4)
        terminal.until(lambda t: t.composer == "see you at the", "the last word gone")
        terminal.press("pier")
        terminal.until(lambda t: t.composer == "see you at the pier", "the other word")
        terminal.press("enter")
        terminal.until(lambda t: shown(t, "see you at the pier (edited)"), "the message as edited")
        self.assertFalse(shown(terminal, "see you at the peer"))
        terminal.until(lambda t: len(self.texts("see you at the pier")) == 1, "it on the server")
        self.assertEqual(self.texts("see you at the peer"), [])

    def test_an_edit_that_is_left_changes_nothing(self):
        terminal = self.opened()
        self.send(terminal, "as it was")
        self.select(terminal, "as it was")
        terminal.press("e")
        terminal.until(lambda t: t.composer == "as it was", "the text to edit")
        terminal.press(" not")
        terminal.until(lambda t: t.composer == "as it was not", "another text")
        terminal.press("escape")
        terminal.until(lambda t: "Editing:" not in t.text, "the edit let go")
        self.assertTrue(shown(terminal, "as it was ✓"))
        self.assertEqual(len(self.texts("as it was")), 1)

    def test_delete(self):
        terminal = self.opened()
        self.send(terminal, "a slip of the tongue")
        before = self.select(terminal, "a slip of the tongue")
        self.assertTrue(before)
        terminal.press("d")
        terminal.until(lambda t: not shown(t, "a slip of the tongue"), "it gone from the screen")
        terminal.until(lambda t: not self.texts("a slip of the tongue"), "it gone on the server")
        self.assertTrue(shown(terminal, "Deal."))

    def test_what_others_wrote_is_not_deleted_or_edited(self):
        terminal = self.opened()
        before = terminal.messages
        self.select(terminal, "Deal.")
        terminal.press("d", "e")
        terminal.until_still()
        self.assertEqual(terminal.messages, before)
        self.assertNotIn("Editing:", terminal.text)

    def refused(self, terminal, text):
        """Sends a message that the server refuses once."""
        self.admin.ask({"type": "admin_fail", "title": "forbidden", "name": "send_message"})
        terminal.press(text, "enter")
        terminal.until(lambda t: shown(t, "not sent · t tries again"), "a message that failed")
        self.assertEqual(self.texts(text), [])
        self.select(terminal, text)

    def test_retry(self):
        terminal = self.opened()
        self.refused(terminal, "once more")
        terminal.press("t")
        terminal.until(lambda t: shown(t, "once more ✓") and not shown(t, "not sent"),
                       "the message as sent")
        self.assertEqual(len(self.texts("once more")), 1)

    def test_what_failed_is_dropped(self):
        terminal = self.opened()
        self.refused(terminal, "never mind")
        terminal.press("d")
        terminal.until(lambda t: not shown(t, "never mind"), "it gone from the screen")
        self.assertEqual(self.texts("never mind"), [])

    def test_own_reaction_and_back(self):
        terminal = self.opened()
        self.select(terminal, "Deal.")

        def readers():
            return self.texts("Deal.")[0].get("reactions") or {}

        terminal.press("1")
        terminal.until(lambda t: shown(t, "👍 1"), "the reaction")
        terminal.until(lambda t: "eva" in readers().get("👍", []), "it on the server")
        terminal.press("1")
        terminal.until(lambda t: not shown(t, "👍 1"), "the reaction gone")
        terminal.until(lambda t: "eva" not in readers().get("👍", []), "it gone on the server")

    def test_a_group_opens_and_closes(self):
        terminal = self.opened()
        before = self.select_line(terminal, lambda line: "▸ 3 events" in line, "a group")
        self.assertEqual(len(before), 1)
        # It stands at the top of the screen, and would open beyond it.
        for key in ["up"] * 4 + ["down"] * 4:
            old = self.selected(terminal)
            terminal.press(key)
            terminal.until(lambda t: self.selected(t) != old, "another one that is selected")
        self.assertEqual(self.selected(terminal), before)
        folded = terminal.messages
        terminal.press("enter")
        terminal.until(lambda t: shown(t, "▾ 3 events"), "the group open")
        for text in ("lucie changed the picture", "lucie added alice", "alice joined"):
            self.assertTrue(shown(terminal, text), text)
        # What stands below stays where it is: what comes pushes older ones up.
        at = next(at for at, line in enumerate(folded) if "▸ 3 events" in line)
        self.assertEqual(terminal.messages[at + 1:], folded[at + 1:])
        terminal.press("enter")
        terminal.until(lambda t: t.messages == folded, "the group closed:\n" + "\n".join(folded))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Each rule of docs_lint.py that reads one text, with one that breaks it and one that does not."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import docs_lint


class Words(unittest.TestCase):
    def test_private_words_are_found_in_prose_alone(self):
        text = "A range that stands\napart is an Island: the reply is owed.\n"
        found = list(docs_lint.private_words(text))
        self.assertEqual(len(found), 3, found)
        self.assertIn('"stands apart" is a private word: is detached', found)
        self.assertIn('"Island" is a private word: detached range', found)
        kept = ("`island`, [a page](islands.md)\n\n```c\nvoid f(void);\n```\n\n    in vain\n\n"
                "A lower bound is allowed to follow.\n")
        self.assertEqual(list(docs_lint.private_words(kept)), [])


class Lengths(unittest.TestCase):
    def test_words_that_a_script_writes_are_not_counted(self):
        text = ("# Two words\n<!-- results -->\nnot these\n<!-- end -->\nthese three too\n"
                "<!-- the stages of the last night -->\nnor these\n"
                "<!-- the end of the stages -->\nlast\n<!-- nights -->\n\na night\n")
        self.assertEqual(docs_lint.word_count(text), 3 + 3 + 1)

    def test_more_words_than_allowed(self):
        header, pages = docs_lint.HEADER_WORDS_MAX, docs_lint.PAGES_WORDS_MAX
        self.assertEqual(list(docs_lint.too_long(header, pages)), [])
        self.assertEqual(len(list(docs_lint.too_long(header + 1, pages))), 1)
        self.assertEqual(len(list(docs_lint.too_long(header, pages + 1))), 1)


class Tables(unittest.TestCase):
    def test_rows_have_as_many_cells_as_the_head(self):
        kept = "| a | b |\n|---|:-:|\n| 1 | |\n| `x \\| y` | 2 |\n\n| c |\n|---|\n"
        self.assertEqual(list(docs_lint.tables(kept)), [])
        self.assertEqual(list(docs_lint.tables("| a | b |\n|---|---|\n| 1 |\n")),
                         ["line 3: a row of 1 cells in a table of 2"])
        self.assertEqual(list(docs_lint.tables("| a |\n|---|\n| 1 | 2 |\n")),
                         ["line 3: a row of 2 cells in a table of 1"])

    def test_a_table_that_an_empty_line_cuts(self):
        self.assertEqual(list(docs_lint.tables("| a |\n|---|\n| 1 |\n\n| 2 |\n")),
                         ["line 5: no dashes below the head of a table"])


class Types(unittest.TestCase):
    def test_types_exist(self):
        declared = {"LogWalk", "Vault"}
        self.assertEqual(list(docs_lint.type_names("`LogWalk` and `Vault.swift`, `a.Word`",
                                                   declared)), [])
        self.assertEqual(list(docs_lint.type_names("`LogRun.next` and `LogWalk`", declared)),
                         ["LogRun.next is no type, file or module"])
        self.assertIn("LogWalk", docs_lint.types_declared())


class Decisions(unittest.TestCase):
    def complaints(self, readme, **pages):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "README.md").write_text(readme)
            for name, text in pages.items():
                (folder / f"{name[1:4]}-{name[5:]}.md").write_text(text)
            return [why for _, why in docs_lint.decisions(folder)]

    def test_a_deleted_note_leads_to_the_one_that_supersedes_it(self):
        row = "| 002 | [Two](002-two.md) |\n"
        note = "# Two\n\nAccepted 2026-11-28, supersedes 001.\n\nText.\n"
        self.assertEqual(self.complaints(f"{row}\n- 001: part of 002.\n", n002_two=note), [])
        found = self.complaints(f"{row}\n- 001: never used.\n", n002_two=note)
        self.assertEqual(found, ["nothing says that 002 supersedes 001"])
        found = self.complaints(f"{row}\n- 001: part of 002.\n",
                                n002_two="# Two\n\nAccepted 2026-11-28.\n\nText.\n")
        self.assertEqual(found, ["002 does not say that it supersedes 001"])

    def test_heads_and_rows(self):
        note = "# One\n\nAccepted.\n\nText.\n"
        found = self.complaints("", n001_one=note)
        self.assertIn("no line of status and date is below its title", found)
        note = "# One\n\nAccepted 2026-11-28, amended by 001.\n\nText.\n"
        found = self.complaints("| 001 | [Two](001-one.md) |\n", n001_one=note)
        self.assertEqual(found, ["001 is no later note",
                                 "the table does not say: 001 | [One](001-one.md)"])


class Files(unittest.TestCase):
    def test_the_tree_is_clean(self):
        with contextlib.redirect_stdout(io.StringIO()):
            docs_lint.main()


if __name__ == "__main__":
    unittest.main()

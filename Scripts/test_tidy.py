#!/usr/bin/env python3
"""Each rule of tidy.py with a text that breaks it and one that does not."""

import pathlib
import unittest

import tidy


def complaints(path, text):
    return list(tidy.complaints(pathlib.Path(path), text))


HEAD = "/// What it is for.\n"


class Tidy(unittest.TestCase):
    def assert_broken(self, path, text, why):
        self.assertTrue(any(why in line for line in complaints(path, text)), complaints(path, text))

    def assert_kept(self, path, text):
        self.assertEqual(complaints(path, text), [])

    def test_whitespace(self):
        self.assert_broken("a.md", "x \n", "trailing space")
        self.assert_broken("a.md", "\tx\n", "tab")
        self.assert_broken("a.md", "x", "no line break")
        self.assert_kept("a.md", "x\n")

    def test_lengths(self):
        self.assert_broken("Tests/a.swift", "x" * 101 + "\n", "101 columns")
        self.assert_kept("Tests/a.swift", "x" * 100 + "\n")
        self.assert_broken("Tests/a.swift", "x\n" * 501, "501 lines")
        self.assert_kept("Tests/a.swift", "x\n" * 500)

    def test_functions(self):
        def body(lines):
            return HEAD + "func f() {\n" + "  x()\n" * (lines - 2) + "}\n"
        self.assert_broken("Sources/Base/A.swift", body(71), "a function of 71 lines")
        self.assert_kept("Sources/Base/A.swift", body(70))
        self.assert_kept("Sources/Base/A.swift", f"{HEAD}func f() {{ 1 }}\n" + "g()\n" * 90 + "}\n")

    def test_banned(self):
        for code in ("fatalError()", "let a = b!", "let a = try! b()", "let a = b as! C",
                     "let a = try? b()", "print(1)", "b![0]", "await f()"):
            self.assert_broken("Sources/Base/A.swift", f"{HEAD}{code}\n", "")
        for code in ("if !a {}", "if a != b {}", 'let a = "b!"', "// b!", "imprint(1)"):
            self.assert_kept("Sources/Base/A.swift", f"{HEAD}{code}\n")
        self.assert_broken("Sources/Base/TextUtils.swift", HEAD, "is not a name")

    def test_imports(self):
        wire = "Sources/Wire/A.swift"
        self.assert_broken(wire, HEAD + "internal import Engine\n", "may not import")
        self.assert_broken(wire, HEAD + "internal import Foundation\n", "Foundation")
        self.assert_broken("Sources/ABI/A.swift", HEAD + "public import Engine\n", "publicly")
        self.assert_kept("Sources/Wire/A.swift", HEAD + "internal import Base\n")

    def test_unsafe(self):
        self.assert_broken("Sources/Timeline/A.swift", HEAD + "let a = unsafe b\n", "memory")
        self.assert_kept("Sources/ABI/A.swift", HEAD + "let a = unsafe b\n")

    def test_opening(self):
        self.assert_broken("Sources/Base/A.swift", "let a = 1\n", "what the file is for")
        self.assert_kept("Sources/Base/A.swift", HEAD)

    def test_unchecked(self):
        self.assert_broken(
            "Sources/Base/A.swift", HEAD + "\nfinal class A: @unchecked Sendable {}\n", "reason")
        self.assert_kept(
            "Sources/Base/A.swift", HEAD + "\n// Why.\nfinal class A: @unchecked Sendable {}\n")

    def test_marks(self):
        self.assert_broken("Sources/Base/A.swift", HEAD + "// FIXME later\n", "open end")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Each rule of tidy.py with a text that breaks it and one that does not."""

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import owners
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

    def test_folders(self):
        many = [pathlib.Path(f"Sources/Room/File{number}.swift") for number in range(23)]
        self.assertEqual(list(tidy.folders(many)),
                         ["Sources/Room:0: 23 files, 22 are allowed"])
        self.assertEqual(list(tidy.folders(many[1:])), [])

    def test_lengths(self):
        self.assert_broken("Tests/a.swift", "x" * 101 + "\n", "101 columns")
        self.assert_kept("Tests/a.swift", "x" * 100 + "\n")
        self.assert_broken("Tests/a.swift", "x\n" * 501, "501 lines")
        self.assert_kept("Tests/a.swift", "x\n" * 500)
        self.assert_kept("Sources/Text/UnicodeTables.swift", HEAD + "x\n" * 501)
        self.assert_broken("Sources/Text/Tokenizer.swift", HEAD + "x\n" * 501, "502 lines")

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

    def test_arithmetic(self):
        def found(code, path="Sources/Wire/A.swift"):
            return [why for _, _, why in tidy.arithmetic(pathlib.Path(path), f"{HEAD}{code}\n")]
        for code in ("let a = b + c", "a += 1", "a -= b", "let a = b * c", "a *= 2", "a <<= b",
                     "let a = 1 << b", "  + b", "let a = -b", "f(-b)", "return -(b)", "abs(a)",
                     "let a = b[1] + c", "let a = f(b) + g(c)", "let a = b.reduce(0, +)",
                     "let a = Int(b)", "let a = UInt64(b)", "let a = b.map(Int.init)",
                     "let a = UInt32.init(b)", "let a = b ? [c] : d + e", "let a = b + 1_000"):
            self.assertEqual(len(found(code)), 1, code)
        for code in ("let a = b &+ c", "let a = b &<< c", "let a = -1", "f(-1)", "(Int) -> Int",
                     "let a = Int(clamping: b)", "let a = UInt8(truncatingIfNeeded: b)",
                     "let a = Int(exactly: b)", "let a = UInt64(bitPattern: b)", "// a + b",
                     'let a = "b + c"', "let a = b + [c]", "let a = [b] + c", "a += [b]",
                     "let a = 24 * 3_600", "let a: UInt64 = 1 << 40", 'a += "b"',
                     "let a = Array(b.utf8) + Array(c)", "print(a, to: &b)"):
            self.assertEqual(found(code), [], code)
        self.assertEqual(found("a += 1", "Sources/Timeline/A.swift"), [])
        self.assertEqual(found("a += 1", "Tests/WireTests/A.swift"), [])

    def test_reviewed_arithmetic(self):
        def found(listed, *codes):
            source = HEAD + "".join(f"  {code}\n" for code in codes)
            return list(tidy.overflows([(pathlib.Path("Sources/Wire/A.swift"), source)], listed))
        line = "Sources/Wire/A.swift: a += 1\n"
        self.assertIn("Sources/Wire/A.swift:2: overflows", found("", "a += 1")[0])
        self.assertEqual(found("# counts\n" + line, "a += 1"), [])
        # By its text, wherever it stands and however often.
        self.assertEqual(found("# counts\n" + line, "b()", "a += 1", "a += 1  // again"), [])
        self.assertEqual(len(found("# counts\n" + line, "a += 2")), 2)
        self.assertEqual(found("# counts\n" + line),
                         ["Scripts/arithmetic.txt:2: there is no such line any more: " + line[:-1]])
        for listed, why in ((line, "without a reason"), ("# counts\n\n" + line, "without a reason"),
                            ("# counts\n" + line + line, "listed twice"),
                            ("# counts\n" + line + "a\n", "neither")):
            self.assertIn(why, " ".join(found(listed, "a += 1")), listed)

    def owned(self, listed="", **files):
        paths = {name.replace("__", "/").replace("_", "+") + ".swift": text
                 for name, text in files.items()}
        sources = [(pathlib.Path(f"Sources/{name}"), text) for name, text in paths.items()]
        return list(owners.complaints(sources, tidy.swift_code, listed))

    def test_owners_names(self):
        code = "extension SyncEngine {\n}\n"
        self.assertEqual(self.owned(Engine__Sync__Part=code), [
            "Engine/Sync/Part.swift:0: 1 times it names SyncEngine, and a component names none"])
        self.assertEqual(self.owned(Engine__Sync__SyncEngine_Part=code), [])
        self.assertEqual(self.owned(Engine__Client__Client=code), [])
        self.assertEqual(self.owned(Engine__Sync__Part="// SyncEngine\n"), [])

    def test_owners_stored(self):
        def body(count):
            fields = "".join(f"  private(set) var a{number} = 0\n" for number in range(count - 1))
            computed = ("  var b: Int { 1 }\n  static let c = 1\n"
                        "  struct In {\n    let d: Int\n  }\n")
            local = "  func e() {\n    let f = 1\n  }\n"
            return f"struct Type {{\n{fields}  let last: Int\n{computed}{local}}}\n"
        self.assertEqual(self.owned(Engine__A=body(15), Wire__B=body(99)), [])
        self.assertEqual(self.owned(Engine__A=body(16)),
                         ["Type:0: 16 stored properties, 15 are allowed"])
        self.assertEqual(self.owned("stored Type 16", Engine__A=body(16)), [])
        self.assertEqual(self.owned("stored Type any", Engine__A=body(99)), [])
        self.assertEqual(self.owned("stored Type 16", Store__A=body(17)),
                         ["Type:0: 17 stored properties, 15 are allowed"])
        self.assertEqual(self.owned("stored Type 18", Store__A=body(17)),
                         ["Scripts/owners.txt:0: stored Type is 17 by now: the list only shrinks"])
        self.assertEqual(self.owned("stored Type 18", Store__A=body(15)), [
            "Scripts/owners.txt:0: stored Type is within the rule by now: the list only shrinks"])

    def test_owners_files(self):
        def many(count):
            return {f"Store__File{number}": "extension Type {\n}\n" for number in range(count)}
        self.assertEqual(self.owned(**many(8)), [])
        self.assertEqual(self.owned(**many(9)), ["Type:0: 9 files extend it, 8 are allowed"])

    def test_subject(self):
        for line in ("store: write rows once", "docs, tests: x", "C/Python 3.x-y: x",
                     "Docs: " + "x" * 66):
            self.assertEqual(list(tidy.subject(line)), [])
        for line in ("rows are written once", "Store:x", "Store: ", "S_t: x", "9: x", ""):
            self.assertEqual(list(tidy.subject(line)), ["the subject is not `area: verb …`"])
        self.assertEqual(list(tidy.subject("store: what is read stays")),
                         ['the subject has no verb behind the area but "what"'])
        self.assertEqual(list(tidy.subject("Docs: " + "x" * 67)),
                         ["a subject of 73 columns, 72 are allowed"])


class Commits(unittest.TestCase):
    """Which commits are looked at, in repositories that are made here."""

    def setUp(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        patch = unittest.mock.patch.dict(os.environ, kept, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def git(self, *arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid",
               "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *arguments], cwd=self.root, check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self, subject):
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def subjects(self, root, base):
        """(what is complained of, whether the base was missed)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            found = list(tidy.subjects(root, base))
        return found, "not in this clone, subjects are not checked" in printed.getvalue()

    def test_commits_after_the_base(self):
        self.git("init", "--quiet", "--initial-branch=main")
        base = self.commit("before there was a rule")
        self.commit("Docs: one")
        self.git("checkout", "--quiet", "-b", "side", base)
        self.commit("Docs: two")
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--no-edit", "side")
        self.assertEqual(self.subjects(self.root, base), ([], False))
        self.commit("no room")
        (line,), missed = self.subjects(self.root, base)
        self.assertIn("the subject is not `area: verb …`: no room", line)
        self.assertFalse(missed)

    def test_a_clone_without_the_base(self):
        self.git("init", "--quiet", "--initial-branch=main")
        base = self.commit("before there was a rule")
        self.commit("no room")
        self.git("clone", "--quiet", "--depth", "1", f"file://{self.root}", "shallow")
        self.assertEqual(self.subjects(self.root / "shallow", base), ([], True))

    def test_an_export_without_git(self):
        (self.root / "out").mkdir()
        (self.root / "a.md").write_text("x\n")
        (self.root / "out" / "b.md").write_text("x\n")
        self.assertEqual(self.subjects(self.root, "0" * 40), ([], True))
        self.assertEqual(tidy.tracked(self.root), [pathlib.Path("a.md")])


if __name__ == "__main__":
    unittest.main()

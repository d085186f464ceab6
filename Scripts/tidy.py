#!/usr/bin/env python3
"""House rules that no compiler checks.

Each rule is a function that is given a path and its text and yields complaints; test_tidy.py holds
one text that breaks each rule and one that does not. `tidy.py` without arguments reads every file
of the repository, and the subjects of the commits after the one that `Scripts/house-base` names.
`tidy.py --arithmetic` prints the lines that `Scripts/arithmetic.txt` lacks, as it has them.
"""

import collections
import pathlib
import re
import subprocess
import sys

import owners

ROOT = pathlib.Path(__file__).resolve().parent.parent

LINE_MAX = 100
FUNCTION_MAX = 70
FILE_MAX = 500
FOLDER_MAX = 22
BYTES_MAX = 200_000
SUBJECT_MAX = 72
# Words that a subject does not begin with: a verb says what the commit does.
NO_VERBS = {"a", "an", "no", "of", "the", "what", "where", "who"}
# Tables that a script writes: nobody reads them by the line.
TABLES = {"Sources/Text/UnicodeTables.swift"}
# Folders that git ignores, for a folder without git.
MADE = re.compile(r"/(\.build[^/]*|\.git|\.venv|out|__pycache__|[^/]*\.egg-info)/")

# What a module may import, by architecture. System modules are listed with those that use them.
MODULES = {
    "Base": {"BaseC", "CSodium", "Glibc"},
    "Timeline": {"Base"},
    "Viewport": {"Base"},
    "Wire": {"Base"},
    "Text": {"Base"},
    "Vault": {"Base", "CSQLite", "CSodium", "Support", "Glibc", "Synchronization"},
    "Store": {"Base", "Timeline", "Text", "Vault", "CSQLite", "Support", "Glibc"},
    "Engine": {"Base", "Timeline", "Wire", "Store", "Vault", "Support", "Glibc"},
    "ABI": {"Base", "Engine", "Viewport", "CTideline", "Glibc"},
}
# Where memory is handled by hand, and why.
UNSAFE = {
    "ABI": "pointers of the host",
    "Store": "columns of SQLite",
    "Vault": "pages and keys",
    "Wire": "the scanner",
    "Text": "the tables in the library",
    "Base": "locks and clocks",
    "Engine": "the event descriptor",
}
BANNED = [
    (r"\bfatalError\(", "fatalError ends the host's process"),
    (r"\bprecondition(Failure)?\(", "precondition ends the host's process"),
    (r"\btry!", "try! ends the host's process"),
    (r"\bas!", "as! ends the host's process"),
    (r"\bunowned\b", "unowned ends the host's process"),
    (r"[\w\])]!(?![=\w])", "a forced unwrap ends the host's process"),
    (r"\btry\?", "try? hides a failure"),
    (r"\bprint\(", "the library prints nothing"),
    (r"\bTask\b\s*[({.]|\bawait\b|\basync\b", "the library starts no task"),
    (r"\bimport Foundation|\bimport Dispatch", "neither Foundation nor Dispatch"),
    (r"\.(upper|lower)cased\(|\.is(Letter|Number|Whitespace|Uppercase|Lowercase)\b|\.properties\.",
     "the library has no tables of Unicode's properties"),
    (r"-Ounchecked", "-Ounchecked removes checks"),
]
BANNED_NAMES = ("Utils", "Helper", "Manager")

# Where a number may come from outside, so that arithmetic that can overflow is reviewed by line.
COUNTED_MODULES = ("Wire", "Store", "Engine")
ARITHMETIC = "Scripts/arithmetic.txt"
TRAPPING = [
    # An operator with space around it; `&+` and its like wrap around.
    (re.compile(r"(?:^|(?<=\s))(\+|-|\*|<<)=?(?=\s|$)"), "overflows"),
    # One given as a function: `reduce(0, +)`.
    (re.compile(r"[(,:]\s*[-+*]\s*[,)]"), "overflows"),
    (re.compile(r"(?:^|[\s(\[,:])-(?=[A-Za-z_(])|\babs\("), "overflows at the least number"),
    (re.compile(r"\bU?Int(?:8|16|32|64|128)?(?:\.init)?\("
                r"(?!(?:clamping|exactly|truncatingIfNeeded|bitPattern|ascii|(?:little|big)Endian)"
                r":)"), "traps where the number does not fit"),
    (re.compile(r"\bU?Int(?:8|16|32|64|128)?\.init(?![\w(])"), "traps where it does not fit"),
]
# What is no arithmetic of numbers from outside: arrays and strings, and constants.
HARMLESS = [
    re.compile(r"(?<=\.utf8\)) \+ |(?<=\") \+ |\+=? (?=\[|\"|Array\(|quoted\()"),
    re.compile(r"(?:^|(?<=[\s(?:=]))\[[^\[\]]*\] \+(?= )"),
    re.compile(r"(?<![\w.])-?[\d_]+(?: (?:\+|-|\*|<<) [\d_]+)+(?![\w.])"),
]


def code_only(line):
    """A line of Swift without its comment and without the contents of its strings."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//")[0]


def swift_code(text):
    """The lines of a Swift file as (number, code), without multi-line strings."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.count('"""') % 2 == 1:
            inside = not inside
            continue
        if not inside:
            yield number, code_only(line)


def is_source(path):
    return path.parts[0] == "Sources" and path.suffix == ".swift"


def whitespace(path, text):
    if path.name == "Makefile" or path.name == "LICENSE":
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "trailing space"
        if "\t" in line:
            yield number, "tab"
    if text and not text.endswith("\n"):
        yield 0, "no line break at the end"


def lengths(path, text):
    if path.suffix not in (".swift", ".c", ".h", ".py"):
        return
    lines = text.split("\n")
    if path.suffix == ".swift" and str(path) not in TABLES and len(lines) - 1 > FILE_MAX:
        yield 0, f"{len(lines) - 1} lines, {FILE_MAX} are allowed"
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_MAX and path.name != "tideline.h":
            yield number, f"{len(line)} columns, {LINE_MAX} are allowed"


def functions(path, text):
    if path.suffix != ".swift" or path.parts[0] not in ("Sources",):
        return
    start = indent = None
    size = 0
    for number, code in swift_code(text):
        match = re.match(r"(\s*)(?:[\w@()]+\s+)*(?:func\s+\S+|init[?(<])", code)
        if match and (start is None or len(match.group(1)) <= indent):
            start, indent, size = number, len(match.group(1)), 0
        size += 1
        depth = re.match(r"\s*", code).end()
        if start is not None and code.strip().startswith("}") and depth <= indent:
            if depth == indent and size > FUNCTION_MAX:
                yield start, f"a function of {size} lines, {FUNCTION_MAX} are allowed"
            start = None
        elif start == number and "{" in code and code.count("{") == code.count("}"):
            start = None


def banned(path, text):
    if not is_source(path):
        return
    for number, code in swift_code(text):
        for pattern, why in BANNED:
            if re.search(pattern, code):
                yield number, why
    for name in BANNED_NAMES:
        if name in path.name:
            yield 0, f"{name} is not a name"


def imports(path, text):
    if not is_source(path):
        return
    module = path.parts[1]
    allowed = MODULES.get(module)
    for number, code in swift_code(text):
        match = re.match(r"\s*(\w+)?\s*import\s+(?:struct |class |enum |func )?(\w+)", code)
        if match and allowed is not None:
            if match.group(2) not in allowed:
                yield number, f"{module} may not import {match.group(2)}"
            if match.group(1) == "public" and match.group(2) != "CTideline":
                yield number, "only CTideline is imported publicly"


def unsafe(path, text):
    if not is_source(path) or path.parts[1] in UNSAFE:
        return
    for number, code in swift_code(text):
        if re.search(r"\bunsafe\b", code):
            yield number, f"{path.parts[1]} has no business with memory"


def opening(path, text):
    if is_source(path):
        lines = [line for line in text.split("\n") if line]
        if lines and lines[0].startswith("// swift-format-ignore-file"):
            lines = lines[1:]
        if not lines or not lines[0].startswith("///"):
            yield 1, "no comment says what the file is for"


def unchecked(path, text):
    if not is_source(path):
        return
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if "@unchecked Sendable" in code_only(line) or "nonisolated(unsafe)" in code_only(line):
            if index == 0 or not lines[index - 1].lstrip().startswith("//"):
                yield index + 1, "an unchecked promise has its reason on the line above"


def marks(path, text):
    if path.parts[0] == "Scripts":
        return
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"\b(FIXME|XXX|TODO)\b", line):
            yield number, "an open end"


def arithmetic(path, text):
    """(number, code, why) of lines whose arithmetic traps where a number is too great."""
    if not is_source(path) or path.parts[1] not in COUNTED_MODULES:
        return
    for number, code in swift_code(text):
        left = re.sub(r"func (?:[-+*<]+)", "", code).rstrip()
        for pattern in HARMLESS:
            left = pattern.sub(" ", left)
        for pattern, why in TRAPPING:
            if pattern.search(left):
                yield number, code.strip(), why
                break


def reviewed(text):
    """The lines that were looked at, as {(path, code): number}, and complaints about the list."""
    lines, wrong = {}, []
    reason = None
    for number, line in enumerate(text.splitlines(), 1):
        path, colon, code = line.partition(": ")
        if not line.strip():
            reason = None
        elif line.startswith("# "):
            reason = line
        elif not colon or not code:
            wrong.append((number, "neither a reason nor a line"))
        elif reason is None:
            wrong.append((number, "a line without a reason above it"))
        elif (path, code) in lines:
            wrong.append((number, "listed twice"))
        else:
            lines[path, code] = number
    return lines, wrong


def unreviewed(sources, text):
    """What the list lacks, as (path, number, code, why), and what is wrong with it."""
    listed, wrong = reviewed(text)
    missing, seen = [], set()
    for path, source in sources:
        for number, code, why in arithmetic(path, source):
            seen.add((str(path), code))
            if (str(path), code) not in listed:
                missing.append((path, number, code, why))
    wrong += [(number, "there is no such line any more: " + ": ".join(line))
              for line, number in listed.items() if line not in seen]
    return missing, wrong


def overflows(sources, text):
    """Complaints about arithmetic that nobody looked at."""
    missing, wrong = unreviewed(sources, text)
    for path, number, code, why in missing:
        yield f"{path}:{number}: {why}, and {ARITHMETIC} does not say why it may stay: {code}"
    for number, why in wrong:
        yield f"{ARITHMETIC}:{number}: {why}"


RULES = [whitespace, lengths, functions, banned, imports, unsafe, opening, unchecked, marks]
TEXT = {".swift", ".c", ".h", ".py", ".sh", ".md", ".toml", ".map", ".in", ""}


def complaints(path, text):
    for rule in RULES:
        for number, why in rule(path, text):
            yield f"{path}:{number}: {why}"


def subject(line):
    """The first line of a commit's message is `area: verb, what changed for whom`."""
    match = re.match(r"[A-Za-z][A-Za-z0-9 ,/.-]*: (\S+)", line)
    if not match:
        yield "the subject is not `area: verb …`"
    elif match.group(1).lower() in NO_VERBS:
        yield f"the subject has no verb behind the area but \"{match.group(1)}\""
    if len(line) > SUBJECT_MAX:
        yield f"a subject of {len(line)} columns, {SUBJECT_MAX} are allowed"


def git(root, *arguments):
    """What git prints, or None where it fails or is not there."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def commits(root, base):
    """(hash, subject) of each commit after the base that is no merge; None where the base is not in
    this clone."""
    if git(root, "cat-file", "-e", base + "^{commit}") is None:
        return None
    output = git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD")
    return None if output is None else [tuple(line.split(" ", 1)) for line in output.splitlines()]


def subjects(root, base):
    """Complaints about the subjects of commits after the base."""
    found = commits(root, base)
    if found is None:
        print("tidy: the base commit is not in this clone, subjects are not checked")
    for name, line in found or []:
        for why in subject(line):
            yield f"{name}: {why}: {line}"


def tracked(root):
    """The files of the repository; all files where the folder is an export without git."""
    output = git(root, "ls-files", "-co", "--exclude-standard")
    if output is not None:
        return [pathlib.Path(line) for line in output.splitlines()]
    paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in paths if not MADE.search(f"/{path.parent}/"))


def folders(paths):
    """More files than these nobody finds a way through."""
    count = collections.Counter(str(path.parent) for path in paths if is_source(path))
    for folder, files in sorted(count.items()):
        if files > FOLDER_MAX:
            yield f"{folder}:0: {files} files, {FOLDER_MAX} are allowed"


def sources(root, files):
    return [(path, (root / path).read_text()) for path in files if is_source(path)]


def print_unreviewed():
    """The entries that the list lacks, to be put under a reason."""
    files = [path for path in tracked(ROOT) if (ROOT / path).is_file()]
    missing, _ = unreviewed(sources(ROOT, files), (ROOT / ARITHMETIC).read_text())
    for line in dict.fromkeys(f"{path}: {code}" for path, _, code, _ in missing):
        print(line)


def main():
    if sys.argv[1:] == ["--arithmetic"]:
        return print_unreviewed()
    found = list(subjects(ROOT, (ROOT / "Scripts" / "house-base").read_text().strip()))
    files = [path for path in tracked(ROOT) if (ROOT / path).is_file()]
    found += folders(files)
    found += overflows(sources(ROOT, files), (ROOT / ARITHMETIC).read_text())
    found += owners.complaints(sources(ROOT, files), swift_code, (ROOT / owners.LIST).read_text())
    for path in files:
        data = (ROOT / path).read_bytes()
        if len(data) > BYTES_MAX:
            found.append(f"{path}:0: {len(data)} bytes, {BYTES_MAX} are allowed")
        if path.suffix in TEXT:
            found += complaints(path, data.decode())
    for line in found:
        print(line)
    if found:
        sys.exit(f"tidy: {len(found)} complaints")
    print(f"tidy: {len(files)} files, no complaint")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Keeps the pages true: titles, links, names of the header, of the Python package and of the
protocol's verbs, of files and types, make targets, quoted sentences, tables, words, lines of 100
columns and the decisions.

A page that names a function or a target that does not exist is wrong, whatever else it says. The
first block of code in the README is a program that is compiled and run, so it has to equal it. A
test that quotes the header (`header: "…"` in a comment) is about a promise that must still
be there. A note of a decision says its status, its date and which notes it supersedes.
"""

import ast
import pathlib
import re
import subprocess
import sys

import diagrams

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINES_MAX = 450
# Environment variables of the scripts and tests, which are named like constants of the header.
SETTINGS = {"TL_FROM", "TL_ROUNDS", "TL_TESTED"}
# Made from the calls that give each status: a table to look things up in, as long as they are many.
MADE = {"docs/reference/statuses.md", "docs/design/proof.md"}
README_LINES_MAX = 220
COLUMNS_MAX = 100
LINK_ALONE = r"\s*(?:(?:[-*+]|\d+\.) )?(?:\[[^\]]+\]\([^)\s]+\)|<?[a-z]+://\S+)[.,;:]?"
# A newcomer follows so many steps and no more.
HOPS_MAX = 12
FIRST_BLOCK = "examples/python/examples/first.py"
# Of the README.
WORDS_MAX = 900
# Of the header, and of all pages together without what scripts write. They were 18,000 and 60,000
# before backups, the step of the guide on errors and keys, the trial of one order, hand-over,
# salvage, what an asyncio program has to catch, which commits a file lacks, clients that rest, data
# keys on storages, the failover of a storage, and why a message is not shown.
HEADER_WORDS_MAX = 19_500
PAGES_WORDS_MAX = 71_000
# A script writes what is between such comments of a page, and appends the nights.
WRITTEN = re.compile(r"^<!-- (?!(?:the )?end\b).*? -->\n.*?(?:^<!-- (?:the )?end\b.*? -->$|\Z)",
                     re.MULTILINE | re.DOTALL)
# A page shows a program whole: its block equals the file, which is run.
WHOLE = (("docs/guide/adapter.md", "python", "examples/python/examples/adapter.py", 60),
         ("docs/guide/log-adapter.md", "python", "examples/python/examples/log_adapter.py", 80))
# Where such a program is run.
RUNS = ("Scripts/examples.sh", "Tests/Probe/test_adapter.py", "Tests/Probe/test_log_adapter.py")
# Words that had a private meaning here, and the field's word for each.
PRIVATE = {"islands?": "detached range", "strands?|stranded": "detached range",
           "stretch(?:es)?": "range", "void|voided|voids": "unverified", "in doubt": "unverified",
           "blurred": "unverified", "calm(?:s|ed)?": "reset the backoff",
           "forgiven?|forgives|forgave": "clear", "ow(?:e|es|ed|ing)": "pending",
           "heard": "received", "stands? apart": "is detached", "in vain": "without progress",
           "to come": "say what there is"}
# Types of others that pages name.
FOREIGN_TYPES = {"Codable", "Date", "None", "OSError", "UTF8Span"}
# The page that may name what the header calls otherwise now.
RENAMED = ROOT / "docs" / "reference" / "renamed.md"
NUMBERS = r"\d{3}(?:, \d{3})*"
DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
NOTE_HEAD = re.compile(
    r"# (?P<title>.+)\n\n"
    rf"(?:Accepted|Superseded by (?P<by>\d{{3}}),) (?P<date>{DATE})"
    rf"(?:, amended by (?P<amended>{NUMBERS}))?(?:, supersedes (?P<supersedes>{NUMBERS}))?\.\n\n")


def files(*patterns):
    output = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in output.splitlines() if (ROOT / line).is_file()]


def anchors(text):
    names = set()
    for title in re.findall(r"^#+\s+(.*)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        names.add(name)
    return names


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def prose(text):
    """The lines of a page as (number, line), without tables, fenced and indented code."""
    fenced = listed = code = False
    blank = True
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif line.strip() and not fenced:
            item = re.match(r"\s*([-*+]|\d+\.) ", line)
            listed = bool(item) or listed and (not blank or line.startswith(" "))
            code = line.startswith("    ") and not listed and (blank or code)
            if not code and not line.startswith("|"):
                yield number, line
        blank = not line.strip()


def python_names():
    """What the objects of the Python package have, by the name that pages give such an object."""
    folder = ROOT / "examples" / "python" / "src" / "tideline"
    classes, exported = {}, set()
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                names |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
                classes[node.name] = (names, [getattr(base, "id", "") for base in node.bases])
            elif path.name == "__init__.py" and isinstance(node, ast.Assign):
                exported |= {element.value for element in node.value.elts}

    def of(name):
        names, bases = classes[name]
        return names.union(*(of(base) for base in bases if base in classes))

    return {"tideline": exported, "client": of("Client"), "window": of("Window"),
            "list": of("ConversationList")}


def verbs():
    """The verbs of the protocol."""
    text = (ROOT / "Sources" / "Wire" / "Verb.swift").read_text()
    return set(re.findall(r'case \.\w+: "(\w+)"', text.split("init?(name")[0]))


def verb_cells(text):
    """The verbs that tables name in their column of verbs: the words in code before any `with`."""
    column = None
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = next((n for n, cell in enumerate(cells) if cell.startswith("verb")), -1)
        elif column >= 0 and not set(cells[column]) <= set("-"):
            yield from re.findall(r"`(\w+)`", cells[column].split(" with ")[0])


def page(path, header_names, targets, package, verb_names):
    text = path.read_text()
    plain = without_code(text)
    titles = re.findall(r"^# ", plain, re.MULTILINE)
    if len(titles) != 1:
        yield f"{len(titles)} titles, one is wanted"
    made = path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) in MADE
    if len(text.splitlines()) > LINES_MAX and not made:
        yield f"{len(text.splitlines())} lines, {LINES_MAX} are allowed"
    for number, line in prose(text):
        if len(line) > COLUMNS_MAX and not re.fullmatch(LINK_ALONE, line):
            yield f"line {number} has {len(line)} columns, {COLUMNS_MAX} are allowed"
    for link in re.findall(r"\]\(([^)\s]+)\)", plain):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists():
            yield f"a link to {link}, which does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"a link to {link}, which has no such title"
    for name in sorted(set(re.findall(r"\b(?:tl|TL)_\w*\b", text))):
        if name not in SETTINGS and not any(
                known == name or name.endswith("_") and known.startswith(name)
                for known in header_names):
            yield f"{name} is not in the header"
    for kind, name in sorted(set(re.findall(r"`(tideline|client|window|list)\.(\w+)", plain))):
        if name not in package[kind]:
            yield f"{kind}.{name} is not in the Python package"
    for name in sorted(set(verb_cells(plain)) - verb_names):
        yield f"{name} is no verb of the protocol"
    for name in sorted(set(re.findall(r"`make ([a-z][\w-]*)", text)
                           + re.findall(r"^(?:\$ )?make ([a-z][\w-]*)", text, re.MULTILINE))):
        if name not in targets:
            yield f"`make {name}` is not a target"


def readme():
    """The README is short, and its first program is the example that is run."""
    text = (ROOT / "README.md").read_text()
    if len(text.splitlines()) >= README_LINES_MAX:
        yield f"{len(text.splitlines())} lines, fewer than {README_LINES_MAX} are wanted"
    block = re.search(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if len(text.split()) >= WORDS_MAX:
        yield f"{len(text.split())} words, fewer than {WORDS_MAX} are wanted"
    if not block or block.group(1) != "python":
        yield "its first block of code is no Python"
    elif block.group(2) != (ROOT / FIRST_BLOCK).read_text():
        yield f"its first block of code is not {FIRST_BLOCK}"


def word_count(text):
    """The words of a page as `wc -w` counts them, without what a script writes in it."""
    return len(WRITTEN.sub("", text).split())


def lengths():
    """How many words header and pages have."""
    header = len((ROOT / "Include" / "tideline.h").read_text().split())
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
                                      "CHANGELOG.md")]
    pages += [path for path in files("docs/*.md") if path.name not in ("statuses.md", "renamed.md")]
    return header, sum(word_count(path.read_text()) for path in pages)


def too_long(header, pages):
    """A reader's time is bounded: who adds words takes others out."""
    if header > HEADER_WORDS_MAX:
        yield f"tideline.h: {header} words, {HEADER_WORDS_MAX} are allowed"
    if pages > PAGES_WORDS_MAX:
        yield f"all pages: {pages} words, {PAGES_WORDS_MAX} are allowed"


def map_of_pages():
    """docs/README.md links each page of docs but the notes of decisions."""
    text = (ROOT / "docs" / "README.md").read_text()
    linked = {(ROOT / "docs" / link).resolve() for link in re.findall(r"\]\(([^)\s#]+)", text)}
    for path in files("docs/*.md"):
        if path not in linked and path.parent.name != "decisions" and path.name != "README.md":
            yield f"does not link {path.relative_to(ROOT)}"


def whole_programs():
    """A block of a page's code is the program that it shows, which is short enough to be read."""
    for page_name, language, name, lines_max in WHOLE:
        program = (ROOT / name).read_text()
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page_name).read_text(),
                            re.MULTILINE | re.DOTALL)
        if (language, program) not in blocks:
            yield page_name, f"no block of code is {name}"
        if len(program.splitlines()) > lines_max:
            yield name, f"{len(program.splitlines())} lines, {lines_max} are allowed"
        if not any(f"/{pathlib.Path(name).name}" in (ROOT / run).read_text()
                   or f'"{pathlib.Path(name).name}"' in (ROOT / run).read_text() for run in RUNS):
            yield name, "no example that is run"


def notes(folder):
    """The notes of decisions by number, each as what its head says, and complaints about them."""
    found, trouble = {}, []
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        number, match = path.name[:3], NOTE_HEAD.match(path.read_text())
        if not re.match(r"\d{3}-", path.name) or number in found:
            trouble.append((path, "its name has no number of its own"))
            continue
        if not match:
            trouble.append((path, "no line of status and date is below its title"))
        found[number] = (match.groupdict() if match else {}) | {"path": path}
    return found, trouble


def references(found, moved):
    """Notes agree on which amends or supersedes which. `moved` has the deleted notes, and where
    the choice of each is now."""
    for number, note in found.items():
        for other in (note.get("amended") or "").split(", ") + [note.get("by") or ""]:
            if other and (other not in found or other <= number):
                yield note["path"], f"{other} is no later note"
        by = note.get("by")
        if by and number not in (found.get(by, {}).get("supersedes") or ""):
            yield note["path"], f"{by} does not say that it supersedes {number}"
        for other in re.findall(r"\d{3}", note.get("supersedes") or ""):
            if (found[other].get("by") if other in found else moved.get(other)) != number:
                yield note["path"], f"nothing says that {number} supersedes {other}"


def decisions(folder):
    """Each note has its head, the table of the README has its title, and each missing number is
    explained."""
    found, trouble = notes(folder)
    yield from trouble
    readme = folder / "README.md"
    text = readme.read_text()
    explained = dict(re.findall(r"^- (\d{3}): (\S.*)$", text, re.MULTILINE))
    moved = {number: (re.search(r"\d{3}", why) or [None])[0] for number, why in explained.items()}
    yield from references(found, moved)
    listed = re.findall(r"^\| (\d{3}) \| (.*) \|$", text, re.MULTILINE)
    rows = dict(listed)
    if [number for number, _ in listed] != sorted(rows):
        yield readme, "the table is not in the order of its numbers"
    for number, note in found.items():
        row = "[{title}]({path.name})".format(**note) if "title" in note else ""
        if row and rows.get(number) != row:
            yield readme, f"the table does not say: {number} | {row}"
    for number in sorted(set(rows) - set(found)):
        yield readme, f"{number} is in the table and is no note"
    for number, other in moved.items():
        if other and number not in (found.get(other, {}).get("supersedes") or ""):
            yield readme, f"{other} does not say that it supersedes {number}"
    for number in (f"{count:03}" for count in range(1, int(max(found, default=0)) + 1)):
        if (number in found) == (number in explained):
            yield readme, f"{number} has to be a note or explained as missing, and not both"


def without_spans(text):
    """Prose alone: no code, fenced, indented or in backticks, and no targets of links."""
    lines = without_code(text).split("\n")
    text = "\n".join("" if line.startswith("    ") else line for line in lines)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "``", text))


def private_words(text):
    """Words that a reader cannot know in the sense that they had here."""
    text = without_spans(text)
    for word, better in PRIVATE.items():
        spaced = word.replace(" ", r"\s+")
        for found in re.findall(rf"\b(?:{spaced})\b", text, re.IGNORECASE):
            yield f"\"{' '.join(found.split())}\" is a private word: {better}"


def cells(row):
    """How many cells a row of a table has."""
    return len(re.findall(r"(?<!\\)\|", row.rstrip())) - 1


def tables(text):
    """Each row of a table has as many cells as its head, and a line of dashes is below the head."""
    head = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells(line)
            below = (text.split("\n") + [""])[number]
            if not re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", below):
                yield f"line {number}: no dashes below the head of a table"
        elif cells(line) != head or not line.rstrip().endswith("|"):
            yield f"line {number}: a row of {cells(line)} cells in a table of {head}"


def types_declared():
    """The names that code declares, and those of modules, folders and files."""
    names = set()
    for path in files("*.swift", "*.c", "*.h", "*.py"):
        names |= set(re.findall(
            r"\b(?:class|struct|enum|protocol|actor|typealias|extension|case|func|let|var|def)"
            r"\s+`?([A-Za-z_]\w*)", path.read_text(errors="replace")))
        names |= {path.name.split(".")[0]} | set(path.relative_to(ROOT).parts)
    return names


def type_names(text, declared):
    """A type in backticks is one that the code declares."""
    for name in sorted(set(re.findall(r"`([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*(?:\.\w+)*)`",
                                      without_code(text)))):
        first = name.split(".")[0]
        if first not in declared and name not in declared and first not in FOREIGN_TYPES:
            yield f"{name} is no type, file or module"


def sources():
    """The words of all code under Sources, and the names of its files and folders."""
    words, paths = set(), set()
    for path in files("Sources", "Include", "Simulator", "TestSupport"):
        paths |= {path.name} | {part.name for part in path.parents}
        if path.suffix in (".swift", ".c", ".h"):
            words |= set(re.findall(r"\w+", path.read_text()))
    return words, paths


def file_names():
    """A page that names a file of code names one that there is."""
    known = {str(path.relative_to(ROOT)) for path in files()}
    for path in files("*.md"):
        if path.name == "CHANGELOG.md":
            continue
        for name in re.findall(r"`((?:[\w/.+-]*/)?[\w+-]+\.(?:swift|c|h|py|sh|md|txt))`",
                               path.read_text()):
            if not any(f"/{file}".endswith("/" + name) for file in known):
                yield path.relative_to(ROOT), f"{name} is no file"


def architecture():
    """Each name in the map is in the code, and each hop of its walks is in the file it names."""
    text = without_code((ROOT / "ARCHITECTURE.md").read_text())
    words, paths = sources()
    for name in sorted(set(re.findall(r"`([A-Za-z_][\w.+/]*)`", text))):
        if "/" in name or re.search(r"\.(swift|md|py|h)$", name):
            if not (ROOT / name).exists() and not list((ROOT / "Sources").glob(f"**/{name}")):
                yield f"{name} is neither file nor folder"
        elif not (ROOT / name).exists() and not all(
                part in words or part in paths for part in name.split(".")):
            yield f"{name} is not in the code"
    walks = text.split("## Two walks")[1].split("\n## ")[0]
    for walk in walks.split("\n### ")[1:]:
        hops = re.findall(r"^\| (\d+) \| `([^`]+)` \| `(\w+)` \|", walk, re.MULTILINE)
        if not 1 <= len(hops) <= HOPS_MAX:
            yield f"a walk of {len(hops)} hops, {HOPS_MAX} are allowed"
        for number, name, function in hops:
            code = (ROOT / "Sources" / name).read_text()
            if not re.search(rf"\bfunc {function}\b", code):
                yield f"hop {number}: {name} has no function {function}"


def where():
    """Each function of the map's questions is in a file that its row names."""
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Where is")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (.* \| .* \| .*?) ?\|$", text, re.MULTILINE)[1:]:
        question, places, functions = row.split(" | ", 2)
        code = "".join((ROOT / "Sources" / name).read_text()
                       for name in re.findall(r"`([\w/+]+\.swift)`", places))
        for name in re.findall(r"`(\w+)`", functions):
            if not re.search(rf"\bfunc {name}\b", code):
                yield f"{question}: no function {name} there"


def renamed():
    """The names that the header had before."""
    return set(re.findall(r"^\| `(\w+)`", RENAMED.read_text(), re.MULTILINE))


def sentences(header):
    """The header's prose on one line, without comment marks."""
    text = re.sub(r"^\s*/?\*+/?", " ", header, flags=re.MULTILINE)
    text = re.sub(r"///<?|\*/|/\*\*", " ", text)
    text = text.replace("#TL_", "TL_").replace("#tl_", "tl_").replace("`", "")
    return re.sub(r"\s+", " ", text)


def quotes():
    for path in files("Tests", "examples/python"):
        if path.suffix not in (".swift", ".c", ".h", ".py"):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for quote in re.findall(r'header: "([^"]+)"', line):
                yield path.relative_to(ROOT), number, quote


def main():
    header = (ROOT / "Include" / "tideline.h").read_text()
    names = set(re.findall(r"\b(?:tl|TL)_\w+", "".join(
        path.read_text() for path in (ROOT / "Include").glob("*.h"))))
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    trouble = []
    package, verb_names = python_names(), verbs()
    pages = files("*.md")
    declared = types_declared()
    for path in pages:
        known = names | renamed() if path == RENAMED else names
        text, name = path.read_text(), path.relative_to(ROOT)
        trouble += [f"{name}: {why}" for why in [
            *page(path, known, targets, package, verb_names), *tables(without_code(text))]]
        if name.parts[0] == "docs" and str(name) != "docs/reference/statuses.md":
            trouble += [f"{name}: {why}" for why in [
                *type_names(text, declared), *private_words(text)]]
    trouble += [f"README.md: {why}" for why in readme()]
    trouble += [f"docs/README.md: {why}" for why in map_of_pages()]
    trouble += [f"{path}: {why}" for path, why in whole_programs()]
    header_words, page_words = lengths()
    trouble += too_long(header_words, page_words)
    trouble += [f"ARCHITECTURE.md: {why}" for why in [*architecture(), *where()]]
    trouble += [f"docs/images/{name}: `make diagrams` draws another" for name in diagrams.stale()]
    trouble += [f"{path}: {why}" for path, why in file_names()]
    trouble += [f"{path.relative_to(ROOT)}: {why}"
                for path, why in decisions(ROOT / "docs" / "design" / "decisions")]
    prose = sentences(header)
    count = 0
    for path, number, quote in quotes():
        count += 1
        if sentences(quote).strip() not in prose:
            trouble.append(f"{path}:{number}: the header does not say \"{quote}\"")
    for line in trouble:
        print(line)
    if trouble:
        sys.exit(f"docs-lint: {len(trouble)} complaints")
    print(f"docs-lint: {len(pages)} pages of {page_words} words, {count} quoted sentences, "
          f"{header_words} words of the header")


if __name__ == "__main__":
    main()

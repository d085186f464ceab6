#!/usr/bin/env python3
"""State has owners: the rules of Engine and Store, in figures.

    owners.py            prints the figures

No type has more than STORED_MAX stored properties, none is extended in more than FILES_MAX files,
and a component does not name the coordinator. What breaks a rule stands in owners.txt with its
figure, which may only go down: a better figure has to be written there, and an entry that is needed
no more has to go. Records, statistics and configurations hold what they hold; owners.txt names them
under a heading of their own.
"""

import collections
import pathlib
import re

MODULES = ("Engine", "Store")
STORED_MAX = 15
FILES_MAX = 8
COORDINATOR = "SyncEngine"
# The face hands inputs to it; the rest of the module is told what it needs.
FACE = "Engine/Client"
LIST = "Scripts/owners.txt"

TYPE = re.compile(r"(?:^|\s)(struct|class|enum|actor|extension)\s+([A-Z][\w.]*)")
FIELD = re.compile(r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:private|fileprivate|package|internal|public"
                   r"|weak|nonisolated)(?:\([\w()]+\))?\s+)*(?:let|var)\s+(.*)$")


def names(declared):
    """The properties that a declaration stores; none where it computes."""
    if re.match(r"\w+\s*:[^={]*\{", declared):
        return []
    if declared.startswith("("):
        return re.findall(r"\w+", declared.split(")")[0])
    return [re.match(r"\w+", declared).group()] if re.match(r"\w+", declared) else []


def types(lines):
    """(kind, name, stored properties) of each type that the lines of a file declare or extend."""
    open_types, depth = [], 0
    for _, code in lines:
        found = TYPE.search(code)
        field = FIELD.match(code.strip())
        if field and open_types and open_types[-1][2] == depth:
            open_types[-1][3].extend(names(field.group(1)))
        after = depth + code.count("{") - code.count("}")
        if found and after > depth and not re.search(r"\b(case|func|where \w+ is)\b", code):
            kind, name = found.groups()
            inside = open_types[-1][1] + "." if open_types and kind != "extension" else ""
            open_types.append((kind, inside + name, after, []))
        elif found and code.count("{") and code.count("{") == code.count("}"):
            yield found.group(1), found.group(2), []
        depth = after
        while open_types and depth < open_types[-1][2]:
            kind, name, _, stored = open_types.pop()
            yield kind, name, stored


def figures(sources, swift_code):
    """What each rule counts: {rule: {name: figure}}."""
    stored, files, named = {}, collections.defaultdict(set), {}
    for path, text in sources:
        if path.parts[1] not in MODULES:
            continue
        lines = list(swift_code(text))
        for kind, name, fields in types(lines):
            if kind == "extension":
                files[name].add(str(path))
            else:
                stored[name] = len(fields)
        place = "/".join(path.parts[1:-1])
        if place != FACE and not path.name.startswith(COORDINATOR):
            count = sum(len(re.findall(rf"\b{COORDINATOR}\b", code)) for _, code in lines)
            if count:
                named["/".join(path.parts[1:])] = count
    return {"stored": {name: count for name, count in stored.items() if count > STORED_MAX},
            "files": {name: len(paths) for name, paths in files.items()
                      if len(paths) > FILES_MAX},
            "names": named}


def allowed(text):
    """{rule: {name: figure}} of owners.txt; 0 stands for any figure."""
    rules = collections.defaultdict(dict)
    for line in text.split("\n"):
        entry = re.match(r"(stored|files|names) (\S+) (\d+|any)$", line)
        if entry:
            rule, name, figure = entry.groups()
            rules[rule][name] = 0 if figure == "any" else int(figure)
    return rules


WHY = {
    "stored": f"stored properties, {STORED_MAX} are allowed",
    "files": f"files extend it, {FILES_MAX} are allowed",
    "names": f"times it names {COORDINATOR}, and a component names none",
}


def complaints(sources, swift_code, text):
    found, known = figures(sources, swift_code), allowed(text)
    for rule, why in WHY.items():
        for name, count in sorted(found[rule].items()):
            most = known[rule].get(name)
            if most is None or 0 < most < count:
                yield f"{name}:0: {count} {why}"
            elif most > count:
                yield f"{LIST}:0: {rule} {name} is {count} by now: the list only shrinks"
        for name in sorted(set(known[rule]) - set(found[rule])):
            yield f"{LIST}:0: {rule} {name} is within the rule by now: the list only shrinks"


def main():
    import tidy
    root = pathlib.Path(__file__).resolve().parent.parent
    sources = tidy.sources(root, [path for path in tidy.tracked(root) if (root / path).is_file()])
    for rule, entries in figures(sources, tidy.swift_code).items():
        for name, count in sorted(entries.items(), key=lambda entry: -entry[1]):
            print(rule, name, count)


if __name__ == "__main__":
    main()

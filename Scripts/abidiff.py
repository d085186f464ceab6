#!/usr/bin/env python3
"""Compares the binary interface of the header with that of the last release, by abidiff.

  abidiff.py            with the header of the last tag `v*`, or else of the last commit
  abidiff.py REVISION   with the header of that revision

`header.py compare` shows each change of the header; this one says which of them break a program
that is compiled already. Such a change fails where docs/reference/versions.md promises otherwise:
within a minor version, and from 1.0 on within a major one. abidiff is in Debian's abigail-tools;
where it is not installed, nothing is compared, and a line says so.

Types come from a library of empty functions that is compiled from each header: the debug
information of the real one describes Swift's types, not those of C.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import header

NAME = "Include/tideline.h"
# Exit codes of abidiff are sums of these.
ERRORS, CHANGED = 1 | 2, 4


def declared(path):
    """(name, type of the result, types of the parameters) of each function of a header."""
    for node in header.declarations(path):
        if node["kind"] == "FunctionDecl":
            result = node["type"]["qualType"].split("(")[0].strip()
            yield node["name"], result, header.parameters(node)


def stub(folder, text):
    """A library of empty functions with the types of a header."""
    folder.mkdir()
    path = folder / "tideline.h"
    path.write_text(text)
    source = ['#include "tideline.h"']
    for name, result, parameters in declared(path):
        named = [f"__typeof__({kind}) p{index}" for index, kind in enumerate(parameters)]
        source.append(f"__typeof__({result}) {name}({', '.join(named) or 'void'}) "
                      "{ __builtin_trap(); }")
    (folder / "stub.c").write_text("\n".join(source) + "\n")
    library = folder / "libtideline.so"
    subprocess.run(["gcc", "-std=gnu11", "-g", "-O0", "-w", "-shared", "-fPIC",
                    "-fno-eliminate-unused-debug-types", "-Wl,-soname,libtideline.so.1",
                    "-o", str(library), str(folder / "stub.c")], check=True)
    return library


def growing(text):
    """Structs that may get members at their end, which docs/reference/abi.md names: those that
    begin with their size, and those that the library returns by pointer, one at a time."""
    bodies = dict(re.findall(r"^typedef struct (tl_\w+) \{\n(.*?)^\} \1;", text, re.M | re.S))
    sized = {name for name, body in bodies.items() if body.startswith("  uint32_t struct_size;")}
    return sorted(sized | {"tl_diff", "tl_text", "tl_frame", "tl_layout"} & set(bodies))


def renumbered(old, new):
    """Lines on constants of one header that another one lacks, or has with another value."""
    now = dict(constants(new))
    for name, value in constants(old):
        if now.get(name) != value:
            yield f"{name} was {value} and is {now.get(name, 'gone')}"


def constants(text):
    """(name, value) of each constant of a header. abidiff does not see them: a program has them as
    numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tideline.h"
        path.write_text(text)
        return re.findall(r"^constant (?!TL_VERSION_)(\w+) = (-?\d+)$", header.layout(path), re.M)


def differences(old, new):
    """What breaks a program that was compiled against one header, given as a text, and runs with
    another; empty where nothing does."""
    allowed = "".join(f"[suppress_type]\n  name = {name}\n  type_kind = struct\n"
                      "  has_data_member_inserted_at = end\n\n" for name in growing(old))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "allowed.ini").write_text(allowed)
        result = subprocess.run(
            ["abidiff", "--no-added-syms", "--suppressions", str(folder / "allowed.ini"),
             str(stub(folder / "old", old)), str(stub(folder / "new", new))],
            capture_output=True, text=True, check=False)
    if result.returncode & ERRORS:
        raise SystemExit(f"abidiff: ended with {result.returncode}: {result.stderr.strip()}")
    lines = [result.stdout.strip()] if result.returncode & CHANGED else []
    return "\n".join([*lines, *renumbered(old, new)])


def version(text):
    """(major, minor, patch) of a header."""
    return tuple(int(re.search(rf"^#define TL_VERSION_{part} (\d+)$", text, re.M)[1])
                 for part in ("MAJOR", "MINOR", "PATCH"))


def is_promised(old, new):
    """Whether a program that was compiled against a version may expect to run with another."""
    return old[:2] == new[:2] if old[0] == 0 else old[0] == new[0]


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=header.ROOT, capture_output=True, text=True,
                          check=False)


def base(arguments):
    """(revision, whether a release was tagged there)."""
    if arguments:
        return arguments[0], True
    found = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
    return (found.stdout.strip(), True) if found.returncode == 0 else ("HEAD", False)


def main():
    if shutil.which("abidiff") is None:
        print("abidiff: NOT COMPARED, abidiff is not installed: apt install abigail-tools")
        return
    revision, is_release = base(sys.argv[1:])
    shown = git("show", f"{revision}:{NAME}")
    if shown.returncode != 0:
        raise SystemExit(f"abidiff: git has no {NAME} of {revision}: {shown.stderr.strip()}")
    old, new = shown.stdout, header.HEADER.read_text()
    found = differences(old, new)
    name = revision if is_release else "the last commit (no release is tagged)"
    if not found:
        print(f"abidiff: programs compiled against {name} run with this header")
        return
    print(found)
    if is_release and is_promised(version(old), version(new)):
        raise SystemExit(f"abidiff: programs compiled against {name} break")
    print(f"abidiff: programs compiled against {name} break, which nothing promises yet")


if __name__ == "__main__":
    main()

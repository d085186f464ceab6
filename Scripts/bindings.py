#!/usr/bin/env python3
"""Writes what the Python package has to know of the header: structs, constants and functions.

  bindings.py write    examples/python/src/tideline/_generated.py anew
  bindings.py compare  fails where that file is not what would be written

It reads Scripts/abi/tideline.layout, which header.py compares with the header.
"""

import difflib
import keyword
import re
import sys
import textwrap

import header

TARGET = header.ROOT / "examples" / "python" / "src" / "tideline" / "_generated.py"
HEAD = '''"""Structs, constants and functions of ``tideline.h``.

Written by ``Scripts/bindings.py`` from the header; ``make abi-accept`` writes it anew.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any
'''
PLAIN = {"int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
         "uint64_t": "c_uint64", "size_t": "c_size_t", "void": "None"}
LETTERS = {"c_int32": "i", "c_uint32": "I", "c_int64": "q", "c_uint64": "Q", "c_size_t": "Q"}
FIELD = re.compile(r"^ +(\d+) +(\d+) (.*) (\w+)$")
HOOK = re.compile(r"^(.*?) ?\(\*\)\((.*)\)$")
FUNCTION = re.compile(r"^function (.*?) ?(tl_\w+)\((.*)\)$", re.M)


def class_name(name):
    """`tl_sync_request` is SyncRequest."""
    return "".join(word.capitalize() for word in name.removeprefix("tl_").split("_"))


class Shape:
    """What the snapshot says, and the Python text for it."""

    def __init__(self, text):
        self.typedefs = dict(re.findall(r"^typedef (\w+) = (.*)$", text, re.M))
        self.constants = re.findall(r"^constant (\w+) = (-?\d+)$", text, re.M)
        self.functions = FUNCTION.findall(text)
        self.structs = {}
        for part in text.split("\nstruct ")[1:]:
            head, *fields = part.splitlines()
            self.structs[head.split()[0]] = [FIELD.match(line).groups() for line in fields]
        self.hooks = {}

    def kind(self, text):
        """The ctypes name of a C type. An opaque handle, and bytes, are an address."""
        text = text.removeprefix("const ").strip()
        if text.endswith("]"):
            element, count = text[:-1].split("[")
            return f"{self.kind(element)} * {count}"
        if text.endswith("*"):
            target = text[:-1].strip()
            if target == "char":
                return "c_char_p"
            if target in ("void", "uint8_t") or self.is_opaque(target):
                return "c_void_p"
            return f"POINTER({self.kind(target)})"
        if text in PLAIN:
            return PLAIN[text]
        if text in self.structs or HOOK.match(self.typedefs[text]):
            return class_name(text)
        return self.kind(self.typedefs[text])

    def is_opaque(self, name):
        return name not in self.structs and self.typedefs.get(name) == f"struct {name}"

    def result(self, text):
        """Of a pointer that a function gives, its address: the package copies what lies there."""
        kind = self.kind(text)
        return "c_void_p" if kind.startswith("POINTER") else kind

    def hook(self, name, text):
        """The line of a hook that was not written yet."""
        found = HOOK.match(text)
        if found is None or name in self.hooks:
            return []
        kinds = [self.kind(found[1]), *map(self.kind, found[2].split(", "))]
        self.hooks[name] = True
        return wrapped(f"{name} = ctypes.CFUNCTYPE(", kinds, ")", "")

    def format(self, struct):
        """How `struct.unpack` reads it, a view as an address and a size."""
        text, end = "", 0
        for offset, size, kind, _ in self.structs[struct]:
            text += "x" * (int(offset) - end)
            end = int(offset) + int(size)
            plain = kind if kind in self.structs else self.kind(kind)
            if plain in self.structs:
                text += "QQ" if plain == "tl_view" else self.format(plain)
            elif "*" in plain:
                text += "x" * int(size)
            else:
                text += LETTERS.get(plain, "Q")
        return text

    def write(self):
        lines = [HEAD]
        prefix = None
        for name, value in self.constants:
            group = name.split("_")[1]
            if prefix not in (None, group):
                lines.append("")
            prefix = group
            lines.append(f"{name} = {value}")
        for struct, fields in self.structs.items():
            hooks = []
            for _, _, kind, name in fields:
                if kind in self.typedefs:
                    hooks += self.hook(class_name(kind), self.typedefs[kind])
                else:
                    hooks += self.hook(class_name(struct) + name.capitalize(), kind)
            lines += ["", "", *hooks, *[""] * (2 * bool(hooks))]
            lines += [f"class {class_name(struct)}(ctypes.Structure):", f'    """``{struct}``."""',
                      "", "    _fields_ = ["]
            for _, _, kind, name in fields:
                python = (class_name(struct) + name.capitalize() if HOOK.match(kind)
                          else self.kind(kind))
                member = name + "_" * keyword.iskeyword(name)
                lines.append(f'        ("{member}", {python}),')
            lines.append("    ]")
        lines += ["", "", "#: Of each record of a batch, how `struct` reads it.", "RECORDS = {"]
        for struct, fields in self.structs.items():
            if fields[-1][3] == "reserved_words":
                lines.append(f'    "{struct}": "={shortened(self.format(struct))}",')
        lines += ["}", "", "#: Of each function, its result and its arguments.",
                  "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
        for result, name, rest in self.functions:
            kinds = [self.kind(kind) for kind in rest.split(", ") if kind]
            lines += wrapped(f'"{name}": ({self.result(result)}, [', kinds, "]),", "    ")
        return "\n".join([*lines, "}"]) + "\n"


def shortened(text):
    """`QQQ` is 3Q."""
    return re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", text)


def wrapped(start, parts, end, margin):
    """One line, or a second one where 100 columns are not enough."""
    line = f"{margin}{start}{', '.join(parts)}{end}"
    if len(line) <= 100:
        return [line]
    inner = margin + "    "
    return [margin + start, *textwrap.wrap(", ".join(parts) + end, 100, initial_indent=inner,
                                           subsequent_indent=inner)]


def main():
    action = sys.argv[1] if len(sys.argv) == 2 else ""
    text = Shape(header.SNAPSHOT.read_text()).write()
    if action == "write":
        TARGET.write_text(text)
    elif action == "compare":
        old = TARGET.read_text() if TARGET.exists() else ""
        if old != text:
            sys.stdout.writelines(difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), str(TARGET), "from the header"))
            raise SystemExit("bindings: not of this header; `make abi-accept` writes them anew")
        print(f"bindings: {len(text.splitlines())} lines, of this header")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks that every compiler takes the headers and that the binary shape of tideline.h is as it was
reviewed.

  header.py check      compile as C99, C11, C23 and C++17 with gcc and clang
  header.py compare    signatures, constants, sizes and offsets against Scripts/abi/tideline.layout;
                       no struct by value that an FFI could get wrong
  header.py accept     write that snapshot anew
  header.py toolchain  print the folder of the Swift toolchain's own clang
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "Include" / "tideline.h"
SNAPSHOT = ROOT / "Scripts" / "abi" / "tideline.layout"
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
DOCUMENTED = ["-Wdocumentation", "-Wdocumentation-pedantic"]

# Two translation units, so that a definition in the header would clash.
UNIT = '#include "tideline.h"\n#include "tideline.h"\n%s\n'
BODIES = [
    "unsigned first(void); unsigned first(void) { return tl_abi(); }",
    "unsigned second(void); unsigned second(void) { return TL_ABI; }",
]


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}


def toolchain():
    """The folder with the clang that came with Swift."""
    text = subprocess.run(
        ["swift", "-print-target-info"], check=True, capture_output=True, text=True,
        env=environment()).stdout
    resources = pathlib.Path(json.loads(text)["paths"]["runtimeResourcePath"])
    return resources.parent.parent / "bin"


def compile_units(folder, compiler, standard, language, options, name="tideline.h"):
    suffix = "cpp" if language == "c++" else "c"
    objects = []
    for index, body in enumerate(BODIES):
        source = folder / f"unit{index}.{suffix}"
        source.write_text(UNIT.replace("tideline.h", name) % body)
        target = folder / f"unit{index}.o"
        command = [compiler, "-x", language, f"-std={standard}", *STRICT, *options,
                   f"-I{HEADER.parent}", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True)
        objects.append(str(target))
    subprocess.run(["ld", "-r", "-o", str(folder / "both.o"), *objects], check=True)


def check():
    clang = toolchain() / "clang"
    matrix = []
    for standard in ("c99", "c11", "c2x"):
        matrix.append(("gcc", standard, "c", []))
        matrix.append((str(clang), standard, "c", DOCUMENTED))
    matrix.append(("g++", "c++17", "c++", []))
    matrix.append((str(clang), "c++17", "c++", DOCUMENTED))
    for compiler, standard, language, options in matrix:
        if shutil.which(compiler) is None:
            raise SystemExit(f"header: {compiler} is missing")
        for name in ("tideline.h", "tideline_json.h"):
            with tempfile.TemporaryDirectory() as folder:
                compile_units(pathlib.Path(folder), compiler, standard, language, options, name)
        print(f"header: {pathlib.Path(compiler).name} {standard}")
    for compiler in ("g++", str(toolchain() / "clang++")):
        with tempfile.TemporaryDirectory() as folder:
            compile_units(pathlib.Path(folder), compiler, "c++17", "c++", [], "tideline.hpp")
        print(f"header: {pathlib.Path(compiler).name} tideline.hpp")
    print(f"header: {2 * len(matrix) + 2} compilations, no warning")


def declarations(path=HEADER):
    """A header's own declarations, from clang."""
    text = subprocess.run(
        [str(toolchain() / "clang"), "-x", "c", "-Xclang", "-ast-dump=json", "-fsyntax-only",
         str(path)], check=True, capture_output=True, text=True).stdout
    return [node for node in json.loads(text)["inner"]
            if node.get("name", "").startswith("tl_") or node["kind"] == "EnumDecl"]


def functions():
    return {node["name"]: node["type"]["qualType"] for node in declarations()
            if node["kind"] == "FunctionDecl"}


def parameters(node):
    return [child["type"]["qualType"] for child in node.get("inner", [])
            if child["kind"] == "ParmVarDecl"]


def layout(path=HEADER):
    """The binary shape of a header as text."""
    lines, structs, constants = [], [], []
    for node in declarations(path):
        kind = node["kind"]
        if kind == "FunctionDecl":
            result = node["type"]["qualType"].split("(")[0].strip()
            lines.append(f"function {result} {node['name']}({', '.join(parameters(node))})")
        elif kind == "TypedefDecl":
            lines.append(f"typedef {node['name']} = {node['type']['qualType']}")
        elif kind == "RecordDecl" and node.get("completeDefinition"):
            fields = [child for child in node["inner"] if child["kind"] == "FieldDecl"]
            structs.append((node["name"], fields))
        elif kind == "EnumDecl":
            constants += [child["name"] for child in node["inner"]
                          if child["kind"] == "EnumConstantDecl"]
    macros = ["TL_ABI", "TL_KEY_BYTES"]
    program = ['#include "tideline.h"', "#include <stdio.h>", "int main(void) {"]
    for name in macros + constants:
        program.append(f'  printf("constant {name} = %lld\\n", (long long){name});')
    for name, fields in structs:
        program.append(f'  printf("struct {name} size %zu\\n", sizeof({name}));')
        for field in fields:
            member, kind = field["name"], field["type"]["qualType"]
            program.append(
                f'  printf("  %3zu %3zu {kind} {member}\\n", offsetof({name}, {member}), '
                f'sizeof((({name} *)0)->{member}));')
    program.append("  return 0;\n}")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        source.write_text("\n".join(program) + "\n")
        binary = pathlib.Path(folder) / "layout"
        subprocess.run(["gcc", "-std=c11", f"-I{path.parent}", str(source), "-o", str(binary)],
                       check=True)
        printed = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return "\n".join(sorted(lines)) + "\n" + printed


# Registers for integers and pointers: 6 on x86-64 (System V), 8 on 64-bit ARM. A struct of two
# words that does not fit in those that are left goes to the stack whole.
REGISTERS = 6
CALL = re.compile(r"^(?:function|typedef|\s+\d+\s+\d+) (?P<text>.*)$")
PARAMETERS = re.compile(
    r"^(?:(?P<name>tl_\w+) = )?(?P<result>.*?)\s*"
    r"(?:\(\*\)|(?P<function>tl_\w+))\((?P<rest>.*)\)(?: (?P<member>\w+))?$")


def misplaced(shape):
    """What an FFI that passes each word of a struct as an argument would call wrongly, of the shape
    as `layout` gives it: functions, hooks and the functions of structs."""
    sizes = dict(re.findall(r"^struct (\w+) size (\d+)$", shape, re.M))
    for line in shape.splitlines():
        call = CALL.match(line)
        found = call and PARAMETERS.match(call["text"])
        if not found:
            continue
        name = found["function"] or found["name"] or found["member"]
        if found["result"].strip() in sizes:
            yield f"{name} gives a struct by value"
        words = 0
        for kind in filter(None, found["rest"].split(", ")):
            size = sizes.get(kind.removeprefix("const "))
            words += 1 if size is None else -(-int(size) // 8)
            if size is not None and (int(size) > 16 or words > REGISTERS):
                yield f"{name} takes {kind} by value, in more than registers"


def compare():
    now = layout()
    trouble = list(misplaced(now))
    if trouble:
        raise SystemExit("\n".join(f"abi: {line}" for line in trouble))
    if not SNAPSHOT.exists() or SNAPSHOT.read_text() != now:
        with tempfile.NamedTemporaryFile("w", suffix=".layout") as file:
            file.write(now)
            file.flush()
            subprocess.run(["diff", "-u", str(SNAPSHOT), file.name], check=False)
        raise SystemExit("abi: not the reviewed shape; `make abi-accept` takes it")
    print(f"abi: {len(now.splitlines())} lines, as reviewed")


def main():
    action = sys.argv[1] if len(sys.argv) == 2 else ""
    if action == "check":
        check()
    elif action == "compare":
        compare()
    elif action == "accept":
        SNAPSHOT.parent.mkdir(parents=True, exist_ok=True)
        SNAPSHOT.write_text(layout())
    elif action == "toolchain":
        print(toolchain())
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()

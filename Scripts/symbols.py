#!/usr/bin/env python3
"""Checks that the header's functions, the version script and the library's exports are one set.

The compiler checks each export against the header, but not that each function of the header has an
export, nor that nothing else leaves the library.
"""

import re
import subprocess
import sys

import header


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                          capture_output=True, text=True).stdout
    names = set()
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            names.add(name.split("@")[0])
    return names


def listed():
    text = (header.ROOT / "tideline.map").read_text()
    return set(re.findall(r"^\s+(tl_\w+);", text, re.MULTILINE))


def dynamic(library):
    text = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True,
                          text=True).stdout
    return {"needed": set(re.findall(r"\(NEEDED\).*\[(.*?)\]", text)),
            "soname": re.findall(r"\(SONAME\).*\[(.*?)\]", text), "nodelete": "NODELETE" in text,
            "paths": re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*?)\]", text)}


def main():
    library = sys.argv[1]
    declared = set(header.functions())
    trouble = []
    for name, found in (("tideline.map", listed()), (library, exported(library))):
        for symbol in sorted(declared - found):
            trouble.append(f"{symbol} is declared but not in {name}")
        for symbol in sorted(found - declared):
            trouble.append(f"{symbol} is in {name} but not declared")
    facts = dynamic(library)
    if facts["soname"] != ["libtideline.so.1"]:
        trouble.append(f"soname is {facts['soname']}")
    if not facts["nodelete"]:
        trouble.append("the library may be unloaded under its own runtime")
    if facts["paths"]:
        trouble.append(f"looks for libraries in {facts['paths']}")
    for name in sorted(facts["needed"]):
        if any(part in name for part in ("swift", "Foundation", "dispatch", "stdc++", "gcc_s")):
            trouble.append(f"needs {name}")
    for line in trouble:
        print(f"symbols: {line}")
    if trouble:
        sys.exit(1)
    print(f"symbols: {len(declared)} functions, declared, listed and exported")


if __name__ == "__main__":
    main()

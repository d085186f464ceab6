#!/usr/bin/env python3
"""Packs the self-contained library for those who do not build it: wheel, tarball and Debian
packages, each the same to the byte from the same commit. `make dist` calls it:
pack.py LIBRARY MAP VERSION FOLDER, with SOURCE_DATE_EPOCH."""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import debian
import linked
import sbom
import wheel
from trees import HERE, ROOT, licences, put, put_development, put_library

MACHINES = {"x86_64": ("amd64", "x86_64-linux-gnu"), "aarch64": ("arm64", "aarch64-linux-gnu")}
# What tries the packages in a clean root. Some stay here: the tests that need the server of Swift,
# and those that plant faults in the system's SQLite, which this library does not use.
KIT = ["Include", "Tests/Boundary", "Tests/TextTests/Data/corpus.tsv", "Scripts/boundary.sh",
       "Scripts/abi/tideline.layout", "examples/storage", "examples/python/examples",
       "examples/python/man", "examples/c/first.c", "examples/c/link.h",
       "docs/reference/statuses.md"]
STAY = ("test_bot.py", "test_log.py", "log_server.py", "test_statuses.py")


def tarball(tree, output, when):
    subprocess.run(
        ["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu",
         "--mode=u=rwX,go=rX", f"--mtime=@{when}", "-I", "gzip -9n", "-cf", output, "-C",
         tree.parent, tree.name], check=True)
    return output


def sums(folder, paths):
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
                   for path in sorted(paths) if not path.is_symlink())


def library_tree(tree, library, version, parts, bill):
    put_library(tree / "lib", library, version)
    put_development(tree, "lib", version, None)
    put(tree / "README.md", (HERE / "tarball.md").read_text().replace("@VERSION@", version))
    put(tree / "examples" / "first.c", ROOT / "examples/c/first.c")
    put(tree / "sbom.spdx.json", bill)
    for name, path in licences(parts).items():
        put(tree / "licenses" / name, path)
    put(tree / "SHA256SUMS", sums(tree, [p for p in tree.rglob("*") if p.is_file()]))


def kit_tree(tree):
    listed = subprocess.run(["git", "ls-files", "-z", *KIT], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if pathlib.Path(name).name not in STAY:
            put(tree / name, ROOT / name)
    for name in ("in_root.sh", "two_sqlites.py"):
        put(tree / name, HERE / name)


def main(library, link_map, version, folder):
    library, folder = pathlib.Path(library), pathlib.Path(folder)
    when = int(os.environ["SOURCE_DATE_EPOCH"])
    if wrong := list(linked.complaints(library)):
        raise SystemExit("dist: the library " + ", ".join(wrong))
    machine = platform.machine()
    architecture, triplet = MACHINES[machine]
    glibc = ".".join(map(str, linked.glibc(library)))
    parts = sbom.parts(link_map, ROOT)
    bill = sbom.document(library, version, parts, when)
    text = json.dumps(bill, indent=1) + "\n"
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)

    tag = f"manylinux_{glibc.replace('.', '_')}_{machine}"
    paths = [wheel.write(folder, library, version, tag, parts, bill, when)]
    tree = work / f"tideline-{version}-linux-{machine}"
    library_tree(tree, library, version, parts, text)
    paths.append(tarball(tree, folder / f"{tree.name}.tar.gz", when))
    paths += debian.write(work, folder, library, version, glibc, parts, when, architecture, triplet)
    kit = work / f"tideline-{version}-tests"
    kit_tree(kit)
    paths.append(tarball(kit, folder / f"{kit.name}.tar.gz", when))
    put(folder / "sbom.spdx.json", text)
    put(folder / "try.sh", HERE / "try.sh", 0o755)
    paths += [folder / "sbom.spdx.json", folder / "try.sh"]
    put(folder / "SHA256SUMS", sums(folder, paths))
    shutil.rmtree(work)
    print(f"dist: starts with glibc {glibc}; linked in: "
          + ", ".join(f"{name} {number}" for name, (number, _) in sorted(parts.items())))
    for path in paths:
        print(f"dist: {path.stat().st_size:>10} {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])

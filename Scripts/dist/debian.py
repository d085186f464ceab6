"""The Debian packages: library, development files and the Python package."""

import hashlib
import os
import subprocess

from trees import licences, put, put_development, put_library, python_files

SUMMARY = "embeddable, encrypted, offline-first message cache"
TEXT = """ A cache and sync engine for chat clients: what the user reads and does is kept
 encrypted in one file and brought in line with a server when there is one.
 SQLite and libsodium are part of the library."""
POSTINST = """#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
  py3compile -p python3-tideline
fi
"""
PRERM = """#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
  py3clean -p python3-tideline
fi
"""


def control(folder, name, version, **fields):
    size = sum(path.stat().st_size for path in folder.rglob("*")
               if path.is_file() and not path.is_symlink()) // 1024 + 1
    fields = {"Package": name, "Version": version,
              "Maintainer": "The Tideline authors <tideline@tideline.invalid>",
              "Installed-Size": size, "Priority": "optional", **fields,
              "Description": f"{SUMMARY}, {fields['Description']}\n{TEXT}"}
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}"
            for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    put(folder / "DEBIAN" / "control", "\n".join(lines) + "\n")
    put(folder / "DEBIAN" / "md5sums", "\n".join(sums) + "\n")


def build(folder, output, when):
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    folder.chmod(0o755)
    # The compression is named: its default differs between releases of dpkg.
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, output],
                   check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(when), "XZ_OPT": "", "TZ": "UTC"})


def write(work, folder, library, version, glibc, linked, when, architecture, triplet):
    """Builds the three packages into `folder` and gives their paths."""
    lib, dev, python = (work / name for name in
                        ("libtideline1", "libtideline-dev", "python3-tideline"))
    put_library(lib / "usr/lib" / triplet, library, version)
    put(lib / "DEBIAN/triggers", "activate-noawait ldconfig\n")
    put(lib / "DEBIAN/shlibs", f"libtideline 1 libtideline1 (>= {version})\n")
    put_development(dev / "usr", f"lib/{triplet}", version, "/usr")
    for inside, path in python_files():
        put(python / "usr/lib/python3/dist-packages" / inside, path)
    put(python / "DEBIAN/postinst", POSTINST, 0o755)
    put(python / "DEBIAN/prerm", PRERM, 0o755)
    copyright_texts = "\n\n".join(f"==== {name} ====\n\n{path.read_text(errors='replace')}"
                                  for name, path in licences(linked).items())
    for tree in (lib, dev, python):
        put(tree / "usr/share/doc" / tree.name / "copyright", copyright_texts)
    same = f"libtideline1 (= {version})"
    control(lib, lib.name, version, Architecture=architecture, Section="libs",
            Multi_Arch="same", Depends=f"libc6 (>= {glibc})", Description="library")
    control(dev, dev.name, version, Architecture=architecture, Section="libdevel",
            Multi_Arch="same", Depends=same, Description="development files")
    control(python, python.name, version, Architecture="all", Section="python",
            Depends=f"python3 (>= 3.10), {same}", Description="for Python 3")
    paths = []
    for tree, kind in ((lib, architecture), (dev, architecture), (python, "all")):
        paths.append(folder / f"{tree.name}_{version}_{kind}.deb")
        build(tree, paths[-1], when)
    return paths

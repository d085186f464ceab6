"""What the shared library is linked with, made in a folder of the build.

    lean.py FOLDER

Copies of Swift's own static libraries, of which the linker may drop what nothing asks for.

Swift marks each function of its library as one to be kept (`SHF_GNU_RETAIN`), because a program may
bring modules that call it. Ours brings none, so the mark is taken off the copies. It stays on the
records in which the runtime looks up types and their protocols: nothing refers to those by name.

A linker script in place of the shared libstdc++: the few functions of it that Swift's runtime calls
go inside. To load the shared one for them took as long as all else.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys

SCRIPT = "INPUT(-l:libstdc++.a)\n"
LIBRARIES = ["libswiftCore.a", "libswiftGlibc.a"]
RETAIN = 0x200000
RECORDS = b"swift5_"


def members(archive):
    """Where each file of an archive begins."""
    at = 8
    while at < len(archive):
        size = int(archive[at + 48:at + 58])
        yield at + 60
        at += 60 + size + size % 2


def release(archive, start):
    """Takes the mark off the sections of one object file."""
    if archive[start:start + 6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", archive, start + 40)
    size, count, names = struct.unpack_from("<HHH", archive, start + 58)
    table += start
    # Where there are too many for the header, the first section says.
    if count == 0:
        (count,) = struct.unpack_from("<Q", archive, table + 32)
    if names == 0xFFFF:
        (names,) = struct.unpack_from("<I", archive, table + 40)
    (texts,) = struct.unpack_from("<Q", archive, table + names * size + 24)
    for header in range(table, table + count * size, size):
        name, _, flags = struct.unpack_from("<IIQ", archive, header)
        if flags & RETAIN and not archive.startswith(RECORDS, start + texts + name):
            struct.pack_into("<Q", archive, header + 8, flags & ~RETAIN)


def write(path, content):
    """In one step, since another build may be reading it; and only where it differs."""
    if path.exists() and path.read_bytes() == content:
        return
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_bytes(content)
    whole.replace(path)


def main():
    folder = pathlib.Path(sys.argv[1])
    told = subprocess.run(["swiftc", "-print-target-info", "-static-stdlib"],
                          capture_output=True, check=True).stdout
    source = pathlib.Path(json.loads(told)["paths"]["runtimeResourcePath"]) / "linux"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "libstdc++.so", SCRIPT.encode())
    for name in LIBRARIES:
        archive = bytearray((source / name).read_bytes())
        if not archive.startswith(b"!<arch>\n"):
            sys.exit(f"lean: {source / name} is no archive of files")
        for start in members(archive):
            release(archive, start)
        write(folder / name, archive)


if __name__ == "__main__":
    main()

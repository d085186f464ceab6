#!/usr/bin/env python3
"""Makes a stripped library the same wherever it was built: settle.py LIBRARY VERSION

The compiler keeps a hash of each module for its own use, which depends on the folder of the build;
it is zeroed, and the build id is drawn anew from the bytes. A library that says another version is
refused: a build that was interrupted may have left one.
"""

import ctypes
import hashlib
import pathlib
import re
import subprocess
import sys

NOTE_HEAD = 16


def sections(library):
    """{name: (offset, size)} of a file's sections."""
    text = subprocess.run(["readelf", "-SW", str(library)], check=True, capture_output=True,
                          text=True).stdout
    found = re.findall(r"\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ", text)
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in found}


def settle(library):
    data, where = bytearray(library.read_bytes()), sections(library)
    if ".swift_modhash" in where:
        offset, size = where[".swift_modhash"]
        data[offset:offset + size] = bytes(size)
    offset, size = where[".note.gnu.build-id"]
    first, last = offset + NOTE_HEAD, offset + size
    data[first:last] = bytes(last - first)
    data[first:last] = hashlib.sha256(data).digest()[:last - first]
    library.write_bytes(data)


def main(library, version):
    library = pathlib.Path(library).resolve()
    settle(library)
    number = ctypes.CDLL(str(library)).tl_version()
    found = f"{number >> 16}.{number >> 8 & 255}.{number & 255}"
    if found != version:
        raise SystemExit(f"dist: the library is of version {found}, not {version}; "
                         "rm -r .build-dist")


if __name__ == "__main__":
    main(*sys.argv[1:])

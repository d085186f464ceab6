"""What a shared library needs of the system that it runs on, as its tables say."""

import ctypes
import pathlib
import re
import subprocess

# What glibc brings. The loader is named where thread-local storage is used.
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    """The names of the libraries that it loads."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", library)))


def exported(library):
    """The names of the functions and data that others can use."""
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def glibc(library):
    """The oldest glibc that it starts on, as a pair of numbers."""
    text = output("readelf", "-VW", library)
    versions = {(int(a), int(b)) for a, b in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)}
    # Packed relocations are read since 2.36.
    if "GLIBC_ABI_DT_RELR" in text:
        versions.add((2, 36))
    return max(versions)


def options():
    """The options that the system's shared SQLite was compiled with."""
    shared = ctypes.CDLL("libsqlite3.so.0")
    shared.sqlite3_compileoption_get.restype = ctypes.c_char_p
    number = 0
    while (option := shared.sqlite3_compileoption_get(number)) is not None:
        yield option
        number += 1


def complaints(library):
    """Why it would not start everywhere, or would meet another SQLite in the process."""
    for name in sorted(needed(library) - GLIBC):
        yield f"needs {name}"
    for name in sorted(exported(library)):
        if not re.fullmatch(r"tl_\w+|TIDELINE_\d+", name):
            yield f"exports {name}"
    if "(RUNPATH)" in output("readelf", "-dW", library):
        yield "has a run path"
    content = pathlib.Path(library).read_bytes()
    for option in options():
        if b"\0" + option + b"\0" not in content:
            yield f"has a SQLite without {option.decode()}"

"""Runs one measurement of one row in a process of its own.

    host.py tideline PROGRAM ARGS…
    host.py sqlite LIBRARY PROGRAM ARGS…     over a library that exports the SQLite interface
    host.py module NAME PROGRAM ARGS…        over the SQLite inside a Python module

PROGRAM is `tide.so` or `storage.so`; the latter is a loadable extension of SQLite.
"""

import ctypes
import importlib
import sys


def load_into_library(library, program):
    """Loads the program over an open connection of a plain shared library."""
    sqlite = ctypes.CDLL(library)
    db = ctypes.c_void_p()
    sqlite.sqlite3_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    sqlite.sqlite3_enable_load_extension.argtypes = [ctypes.c_void_p, ctypes.c_int]
    sqlite.sqlite3_load_extension.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
    if sqlite.sqlite3_open(b":memory:", ctypes.byref(db)):
        raise OSError("no connection")
    sqlite.sqlite3_enable_load_extension(db, 1)
    if sqlite.sqlite3_load_extension(db, program.encode(), b"sqlite3_storage_init", None):
        raise OSError(f"{library} does not load {program}")
    return db


def load_into_module(name, program):
    """Loads the program over an open connection of a Python module."""
    module = importlib.import_module(name)
    if hasattr(module, "apsw_version") or hasattr(module, "apswversion"):
        connection = module.Connection(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(program, "sqlite3_storage_init")
        return connection
    return load_into_library(importlib.import_module(name + "._sqlite3").__file__, program)


def main():
    kind, arguments = sys.argv[1], sys.argv[2:]
    held = None
    if kind == "sqlite":
        held = load_into_library(arguments.pop(0), arguments[0])
    elif kind == "module":
        held = load_into_module(arguments.pop(0), arguments[0])
    program = ctypes.CDLL(arguments[0])
    rest = [argument.encode() for argument in arguments[1:]]
    status = program.bench_run(len(rest), (ctypes.c_char_p * len(rest))(*rest))
    del held
    return status


if __name__ == "__main__":
    sys.exit(main())

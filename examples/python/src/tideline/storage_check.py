"""Says whether a storage keeps the contract of ``tl_storage``, or which promise it breaks.

    python -m tideline.storage_check module:Class
    python -m tideline.storage_check path/to/file.py:Class

The class is made without arguments. Where it has a method ``crash``, which loses what a death of
the process, the machine and the database may lose, durability is checked as well. The check itself
is one C file, ``storage_check.c``, the same that a storage in C is compiled with; a C compiler is
needed (``CC``, else ``cc``).
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from . import _library as c
from .storage import Storage, table

_FOLDER = pathlib.Path(__file__).resolve().parent
_CRASH = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)


class _Check(ctypes.Structure):
    """``storage_check``."""

    _fields_ = [
        ("storage", ctypes.POINTER(c.Storage)), ("prefix", ctypes.c_char_p), ("crash", _CRASH),
        ("fail", _FAIL), ("seed", ctypes.c_uint), ("steps", ctypes.c_uint),
        ("reach", ctypes.c_uint64),
    ]


@functools.cache
def _program() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "storage_check.so")
        subprocess.run(
            [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-D_GNU_SOURCE", "-O1",
             "-shared", "-fPIC", "-DSTORAGE_CHECK_LIBRARY", f"-I{_FOLDER}", "-o", target,
             str(_FOLDER / "storage_check.c"), "-lpthread"], check=True)
        return ctypes.CDLL(target)


def check(
        storage: Storage, *, prefix: str = "check", seed: int = 0, steps: int = 0,
        reach: int = 0) -> str:
    """Gives "pass", or the promise that broke and what was seen.

    ``reach`` is the highest offset that is tried; 0 is 64 MiB."""
    functions = table(storage)
    crash: Callable[[], Any] | None = getattr(storage, "crash", None)
    # A method is a function of the check only where there is one.
    lost = _CRASH(lambda _: crash()) if crash is not None else _CRASH()
    request = _Check(
        storage=ctypes.pointer(functions), prefix=prefix.encode(), crash=lost, seed=seed,
        steps=steps, reach=reach)
    why = ctypes.create_string_buffer(400)
    _program().storage_check_run(
        ctypes.byref(request), why, ctypes.c_size_t(ctypes.sizeof(why)))
    return why.value.decode(errors="replace")


def find(name: str) -> type[Storage]:
    """The class that ``module:Class`` or ``file.py:Class`` names."""
    place, _, attribute = name.rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(pathlib.Path(place).stem, place)
        if spec is None or spec.loader is None:
            raise ImportError(place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    found = getattr(module, attribute)
    if not (isinstance(found, type) and issubclass(found, Storage)):
        raise TypeError(f"{attribute} is no tideline.Storage")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tideline.storage_check")
    parser.add_argument("storage", help="module:Class")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--reach", type=int, default=0, help="the highest offset; 0: 64 MiB")
    arguments = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    storage = find(arguments.storage)()
    said = check(storage, seed=arguments.seed, steps=arguments.steps, reach=arguments.reach)
    tried = said != "pass" or hasattr(storage, "crash")
    print(f"storage: {said}" + ("" if tried else " (no crash was tried)"))
    return int(said != "pass")


if __name__ == "__main__":
    sys.exit(main())

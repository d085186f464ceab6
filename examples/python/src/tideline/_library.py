"""The shared library: where it is found and loaded. What the header says is in ``_generated``."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from ._generated import *

HOLD_NONE = 0xFFFFFFFF
ITEM_NONE = 0xFFFFFFFF
NO_DAY = -(1 << 63)


def view(data: bytes) -> View:
    """A view of bytes that the caller keeps alive for the call."""
    return View(c_void_p.from_buffer(c_char_p(data)).value if data else None, len(data))


def _candidates() -> list[str]:
    named = os.environ.get("TIDELINE_LIBRARY")
    if named:
        return [named]
    beside = pathlib.Path(__file__).parent / "libtideline.so.1"
    return [str(beside)] * beside.exists() + ["libtideline.so.1"]


def load() -> ctypes.CDLL:
    """Loads the library: what ``TIDELINE_LIBRARY`` names, else the one beside this package, else
    the system's.

    Raises:
        ImportError: when there is none, or it is of another generation.
    """
    names = _candidates()
    trouble: list[str] = []
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            trouble.append(str(error))
            continue
        for function, (result, arguments) in FUNCTIONS.items():
            entry = getattr(library, function)
            entry.restype = result
            entry.argtypes = arguments
        if library.tl_abi() != TL_ABI:
            raise ImportError(f"{name} is of generation {library.tl_abi()}, {TL_ABI} is wanted")
        return library
    raise ImportError(
        "libtideline.so.1 was not found; name it in TIDELINE_LIBRARY (" + "; ".join(trouble) + ")")


library = load()

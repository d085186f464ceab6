"""The shared library: where it is found and loaded. What the header says is in ``_generated``."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (
    c_char_p,
    c_void_p,
)

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
        ImportError: when there is none, it is another library, or it is of another generation.
    """
    named = os.environ.get("TIDELINE_LIBRARY")
    trouble: list[str] = []
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            trouble.append(str(error))
            continue
        return _checked(library, name)
    if named:
        raise ImportError(
            f"TIDELINE_LIBRARY names {named}, which cannot be loaded ({trouble[0]}); name the path "
            "of libtideline.so.1 there, or unset it")
    raise ImportError(
        "libtideline.so.1 is neither beside this package nor where the system looks "
        f"({'; '.join(trouble)}); install the wheel or the library, or name its path in "
        "TIDELINE_LIBRARY")


def _checked(library: ctypes.CDLL, name: str) -> ctypes.CDLL:
    """Tells what each function takes and gives, where it is a library that this package knows."""
    try:
        library.tl_abi.restype, library.tl_abi.argtypes = FUNCTIONS["tl_abi"]
    except AttributeError:
        raise ImportError(
            f"{name} is not Tideline: it has no function tl_abi; name the path of "
            "libtideline.so.1 in TIDELINE_LIBRARY") from None
    if library.tl_abi() != TL_ABI:
        raise ImportError(
            f"{name} is of generation {library.tl_abi()}, and this package needs {TL_ABI}; install "
            "the library and the package of one version")
    for function, (result, arguments) in FUNCTIONS.items():
        try:
            entry = getattr(library, function)
        except AttributeError:
            raise ImportError(
                f"{name} is older than this package: it has no function {function}; install the "
                "library and the package of one version") from None
        entry.restype, entry.argtypes = result, arguments
    return library


library = load()

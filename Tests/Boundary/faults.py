"""Faults of the disk, planted under SQLite while one call runs.

SQLite lets its own tests replace the system calls that its file layer makes. The library uses the
SQLite of this process, so what is replaced here fails inside the library.
"""

import contextlib
import ctypes
import errno

_sqlite = ctypes.CDLL("libsqlite3.so.0")
_pointers = ("pNext", "zName", "pAppData", "xOpen", "xDelete", "xAccess", "xFullPathname",
             "xDlOpen", "xDlError", "xDlSym", "xDlClose", "xRandomness", "xSleep", "xCurrentTime",
             "xGetLastError", "xCurrentTimeInt64")
_SetCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_GetCall = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


class _VFS(ctypes.Structure):
    _fields_ = [("iVersion", ctypes.c_int), ("szOsFile", ctypes.c_int),
                ("mxPathname", ctypes.c_int)]
    _fields_ += [(name, ctypes.c_void_p) for name in _pointers]
    _fields_ += [("xSetSystemCall", _SetCall), ("xGetSystemCall", _GetCall)]


_sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(_VFS)
_sqlite.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
_Transfer = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_int64, use_errno=True)


_vfs = _sqlite.sqlite3_vfs_find(b"unix")


def _name(*names):
    """The first of these calls that this SQLite makes."""
    return next(name for name in names if _vfs.contents.xGetSystemCall(_vfs, name))


READ, WRITE = _name(b"pread64", b"pread"), _name(b"pwrite64", b"pwrite")


def _failing(number):
    def fail(*_):
        ctypes.set_errno(number)
        return -1
    return _Transfer(fail)


def _flipping():
    """Reads as the system does, and changes a bit of what it read."""
    true = _Transfer(_vfs.contents.xGetSystemCall(_vfs, READ))

    def flip(descriptor, buffer, size, offset):
        got = true(descriptor, buffer, size, offset)
        for at in range(0, got, 64):
            ctypes.c_uint8.from_address(buffer + at).value ^= 1
        return got
    return _Transfer(flip)


FAULTS = {
    "the disk cannot be read": lambda: (READ, _failing(errno.EIO)),
    "the disk gives other bytes": lambda: (READ, _flipping()),
    "the disk cannot be written": lambda: (WRITE, _failing(errno.EIO)),
    "the disk is full": lambda: (WRITE, _failing(errno.ENOSPC)),
    "a quota is used up": lambda: (WRITE, _failing(errno.EDQUOT)),
    "the file may not grow": lambda: (WRITE, _failing(errno.EFBIG)),
}


@contextlib.contextmanager
def planted(fault):
    """Lets one of FAULTS hold while the body runs; nothing where it is None."""
    if fault is None:
        yield
        return
    name, call = FAULTS[fault]()
    assert _vfs.contents.xSetSystemCall(_vfs, name, ctypes.cast(call, ctypes.c_void_p)) == 0
    try:
        yield
    finally:
        # NULL stands for the system's own.
        _vfs.contents.xSetSystemCall(_vfs, name, None)

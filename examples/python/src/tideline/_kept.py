"""Lists that differences keep up to date, at a cost that grows with the difference.

A list of 10,000 rows is copied and summed up by C, so nothing here goes through its rows in Python.
"""

from __future__ import annotations

import array
import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from . import _library as c
from .views import Diff, OpKind

_Row = TypeVar("_Row")
_NUMBER = array.array("Q", [0])


class Kept(Generic[_Row]):
    """Rows as of a version of a window, a list or items."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self._numbers = array.array("Q")
        self._version = 0

    def bring(
        self, diff: Diff, read: Callable[[int, int], Sequence[_Row]],
        number: Callable[[_Row], int],
    ) -> None:
        """Brings the rows along; those that are new or changed are read by ``read(first, count)``.

        The list before stays as it is for whoever holds it. Where reading fails nothing changes,
        and the next difference makes all of it be read anew.
        """
        rows: list[Any]
        if diff.from_version == self._version:
            rows, numbers = list(self.rows), self._numbers[:]
            fresh = bytearray(len(rows))
        else:
            # A difference was taken in between, or reading failed after it.
            rows, numbers = [None] * diff.row_count, _NUMBER * diff.row_count
            fresh = bytearray(b"\1") * diff.row_count
            diff = Diff(
                diff.from_version, diff.to_version, diff.checksum, diff.row_count, ())
        for op in diff.ops:
            end = op.row + op.count
            if op.kind == OpKind.REMOVE:
                del rows[op.row:end], numbers[op.row:end], fresh[op.row:end]
            elif op.kind == OpKind.MOVE:
                rows.insert(op.row, rows.pop(op.from_))
                numbers.insert(op.row, numbers.pop(op.from_))
                fresh.insert(op.row, fresh.pop(op.from_))
            elif op.kind == OpKind.INSERT:
                rows[op.row:op.row] = itertools.repeat(None, op.count)
                numbers[op.row:op.row] = _NUMBER * op.count
                fresh[op.row:op.row] = b"\1" * op.count
            else:
                fresh[op.row:end] = b"\1" * op.count
        first = fresh.find(1)
        while first >= 0:
            end = fresh.find(0, first)
            end = len(rows) if end < 0 else end
            # A read may be cut where its content is very large.
            found = read(first, min(end - first, 10_000))
            if not found:
                raise AssertionError("a row of the difference is not there")
            rows[first:first + len(found)] = found
            numbers[first:first + len(found)] = array.array("Q", map(number, found))
            fresh[first:first + len(found)] = bytes(len(found))
            first = fresh.find(1, first)
        if summed(numbers) != diff.checksum:
            raise AssertionError("the list is not the one that the difference leads to")
        self.rows, self._numbers, self._version = rows, numbers, diff.to_version


def summed(numbers: array.array[int]) -> int:
    """``tl_checksum`` of numbers, which are not copied."""
    address, count = numbers.buffer_info()
    total: int = c.library.tl_checksum(
        ctypes.cast(address, ctypes.POINTER(ctypes.c_uint64)), count)
    return total

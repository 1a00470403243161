# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Footers and page indexes of Parquet files: min/max of columns of integers and text.

pyarrow has no way to read page indexes, so this reads both from the bytes of the file: structs of
Thrift's compact protocol, whose numbers are those of Parquet's specification.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

Value = int | bytes


@dataclass(frozen=True)
class Unit:
    """A column in a row group or page. Without bounds it may hold any value."""

    rows: int
    only_nulls: bool
    bounds: tuple[Value, Value] | None

    def may_hold(self, low: Value, high: Value) -> bool:
        """Return whether a value of a closed range may be in the unit."""
        if self.only_nulls or self.rows == 0 or low > high:  # type: ignore[operator]
            return False
        return self.bounds is None or (
            self.bounds[0] <= high and self.bounds[1] >= low  # type: ignore[operator]
        )


@dataclass(frozen=True)
class RowGroup:
    """A row group: of each column that it has the whole and the pages."""

    rows: int
    columns: dict[str, Unit]
    pages: dict[str, list[Unit]]

    def column(self, name: str) -> Unit:
        """Return what is known of a column; one that is not there is NULL in every row."""
        return self.columns.get(name, Unit(self.rows, only_nulls=True, bounds=None))


def read(path: Path, columns: Iterable[str]) -> list[RowGroup]:
    """Read the row groups of a file with the bounds and pages of some top-level columns."""
    wanted = set(columns)
    with path.open("rb") as file:
        file.seek(-8, 2)
        (length,) = struct.unpack("<I", file.read(4))
        file.seek(-8 - length, 2)
        footer = Thrift(file.read(length)).struct()
        return [_row_group(file, group, wanted) for group in footer.get(4, [])]


def _row_group(file: BinaryIO, group: dict[int, Any], wanted: set[str]) -> RowGroup:
    rows = group[3]
    units, pages = {}, {}
    for chunk in group[1]:
        meta = chunk[3]
        name = b".".join(meta[3]).decode()
        if name in wanted:
            units[name] = _of_statistics(rows, meta)
            pages[name] = _pages(file, rows, chunk)
    return RowGroup(rows, units, pages)


def _of_statistics(rows: int, meta: dict[int, Any]) -> Unit:
    statistics = meta.get(12, {})
    if statistics.get(3) == meta[5]:
        return Unit(rows, only_nulls=True, bounds=None)
    return Unit(rows, False, _bounds(meta[1], statistics.get(6), statistics.get(5)))


def _pages(file: BinaryIO, rows: int, chunk: dict[int, Any]) -> list[Unit]:
    if 4 not in chunk:
        return [Unit(rows, only_nulls=False, bounds=None)]
    locations = _at(file, chunk[4], chunk[5])[1]
    starts = [*(location[3] for location in locations), rows]
    index = _at(file, chunk[6], chunk[7]) if 6 in chunk else None
    pages = []
    for i, (start, end) in enumerate(itertools.pairwise(starts)):
        if index is None:
            pages.append(Unit(end - start, only_nulls=False, bounds=None))
        elif index[1][i]:
            pages.append(Unit(end - start, only_nulls=True, bounds=None))
        else:
            bounds = _bounds(chunk[3][1], index[2][i], index[3][i])
            pages.append(Unit(end - start, False, bounds))
    return pages


def _at(file: BinaryIO, offset: int, length: int) -> dict[int, Any]:
    file.seek(offset)
    return Thrift(file.read(length)).struct()


# physical types: INT32, INT64, BYTE_ARRAY; of the others nothing is known here
_DECODERS: dict[int, Callable[[bytes], Value]] = {
    1: lambda b: struct.unpack("<i", b)[0],
    2: lambda b: struct.unpack("<q", b)[0],
    6: bytes,
}


def _bounds(kind: int, low: bytes | None, high: bytes | None) -> tuple[Value, Value] | None:
    decode = _DECODERS.get(kind)
    if decode is None or low is None or high is None:
        return None
    return decode(low), decode(high)


class Thrift:
    """A reader of Thrift's compact protocol: a struct is a dict by the numbers of its fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> dict[int, Any]:
        """Read a struct from where the last one ended."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        readers: Sequence[Callable[[], Any] | None] = (
            None,
            lambda: True,
            lambda: False,
            self._byte,
            self._zigzag,
            self._zigzag,
            self._zigzag,
            lambda: struct.unpack("<d", self._bytes(8))[0],
            lambda: self._bytes(self._varint()),
            self._list,
            self._list,
            None,
            self.struct,
        )
        reader = readers[kind]
        if reader is None:
            raise ValueError(f"Thrift type {kind} does not come up in Parquet's footers")
        return reader()

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        kind = head & 15
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(size)]
        return [self._value(kind) for _ in range(size)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

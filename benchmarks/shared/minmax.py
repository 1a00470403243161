# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The share of files, row groups and pages that min/max cannot rule out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.shared import parquet_footer
from benchmarks.shared.parquet_footer import RowGroup, Unit, Value
from benchmarks.shared.ranges import Range


@dataclass(frozen=True)
class Share:
    """Units that min/max cannot rule out, of all units; and the rows in them, of all rows."""

    read: int
    total: int
    read_rows: int
    total_rows: int

    def __str__(self) -> str:
        return f"{self.read:,} of {self.total:,}"

    def fraction(self) -> float:
        """Return the share of units that must be read; 0 for a table without units."""
        return self.read / self.total if self.total else 0.0


@dataclass(frozen=True)
class Reads:
    """The files, row groups and pages of a table that a query must read.

    A unit is read only where the unit that it is part of is. With several columns a page
    counts when some row of it may match in all of them.
    """

    files: Share
    row_groups: Share
    pages: Share


@dataclass
class _Count:
    """A share that is being added up."""

    read: int = 0
    total: int = 0
    read_rows: int = 0
    total_rows: int = 0

    def add(self, read: bool, rows: int) -> None:
        self.total += 1
        self.total_rows += rows
        if read:
            self.read += 1
            self.read_rows += rows

    def share(self) -> Share:
        return Share(self.read, self.total, self.read_rows, self.total_rows)


@dataclass
class _Counts:
    files: _Count = field(default_factory=_Count)
    row_groups: _Count = field(default_factory=_Count)
    pages: _Count = field(default_factory=_Count)


Conditions = list[tuple[str, Value, Value]]


class MinMax:
    """The footers and page indexes of a table, which are loaded once."""

    def __init__(self, files: Sequence[Path], columns: Iterable[str]) -> None:
        self._columns = set(columns)
        self._files = [parquet_footer.read(file, self._columns) for file in files]

    def reads(self, ranges: Iterable[Range[Any]]) -> Reads:
        """Return what a query for the rows within all ranges must read."""
        conditions = [(r.column, _stored(r.low), _stored(r.high)) for r in ranges]
        if not conditions or not {column for column, _, _ in conditions} <= self._columns:
            raise ValueError(f"ranges of {sorted(self._columns)} are needed")
        counts = _Counts()
        for groups in self._files:
            _count(groups, conditions, counts)
        return Reads(counts.files.share(), counts.row_groups.share(), counts.pages.share())


def _stored(value: Any) -> Value:
    return value.encode() if isinstance(value, str) else int(value)


def _count(groups: Sequence[RowGroup], conditions: Conditions, counts: _Counts) -> None:
    is_open = all(_whole(groups, c).may_hold(low, high) for c, low, high in conditions)
    counts.files.add(is_open, sum(group.rows for group in groups))
    for group in groups:
        group_open = is_open and all(
            group.column(c).may_hold(low, high) for c, low, high in conditions
        )
        counts.row_groups.add(group_open, group.rows)
        _count_pages(group, conditions, group_open, counts.pages)


def _whole(groups: Sequence[RowGroup], column: str) -> Unit:
    """Return a column in the whole file: where one row group does not say, the file does not."""
    units = [group.column(column) for group in groups]
    valued = [unit for unit in units if not unit.only_nulls]
    bounds = [unit.bounds for unit in valued if unit.bounds is not None]
    rows = sum(unit.rows for unit in units)
    if not valued or len(bounds) < len(valued):
        return Unit(rows, only_nulls=not valued, bounds=None)
    low = min(b[0] for b in bounds)
    return Unit(rows, False, (low, max(b[1] for b in bounds)))


Spans = list[tuple[int, int]]


def _count_pages(group: RowGroup, conditions: Conditions, is_open: bool, count: _Count) -> None:
    rows: Spans = [(0, group.rows)] if is_open else []
    if is_open:
        for column, low, high in conditions:
            rows = _both(rows, _matching(group, column, low, high))
    for column in {column for column, _, _ in conditions}:
        spans = _spans(group.pages.get(column, []))
        count.total += len(spans)
        count.read += sum(any(a < to and b > start for a, b in rows) for start, to in spans)
    count.total_rows += group.rows
    count.read_rows += sum(to - start for start, to in rows)


def _matching(group: RowGroup, column: str, low: Value, high: Value) -> Spans:
    pages = group.pages.get(column, [])
    spans = zip(pages, _spans(pages), strict=True)
    return [span for page, span in spans if page.may_hold(low, high)]


def _spans(pages: Sequence[Unit]) -> Spans:
    """Return the first row of each page and the first row after it."""
    spans, start = [], 0
    for page in pages:
        spans.append((start, start + page.rows))
        start += page.rows
    return spans


def _both(first: Spans, second: Spans) -> Spans:
    found = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return [(start, to) for start, to in found if start < to]

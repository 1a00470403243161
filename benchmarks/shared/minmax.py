"""The share of files, row groups and pages that min/max cannot rule out, computed by the jar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.shared.ranges import Range


@dataclass(frozen=True)
class Share:
    """The units that min/max cannot rule out, all units, and the rows in both."""

    read: int
    total: int
    read_rows: int
    total_rows: int

    def __str__(self) -> str:
        return f"{self.read:,} of {self.total:,}"

    def fraction(self) -> float:
        """Return the share of units that must be read."""
        return self.read / self.total


@dataclass(frozen=True)
class Reads:
    """The files, row groups and pages of a table that a query must read."""

    files: Share
    row_groups: Share
    pages: Share


class MinMax:
    """The footers and page indexes of a table, which are loaded once."""

    def __init__(self, spark: SparkSession, files: Sequence[Path], columns: Iterable[str]) -> None:
        self._layout = spark._jvm.io.sparkzorder.table.stats  # type: ignore[union-attr]
        self._statistics = self._layout.FileStatistics.load(
            [str(f) for f in files], list(columns), spark._jsc.hadoopConfiguration()
        )

    def reads(self, ranges: Iterable[Range[Any]]) -> Reads:
        """Return what a query for the rows within all ranges must read."""
        java = [self._layout.ColumnRange.of(r.column, r.low, r.high) for r in ranges]
        found = self._layout.ReadFraction.of(self._statistics, java)
        return Reads(_share(found.files()), _share(found.rowGroups()), _share(found.pages()))


def _share(java: Any) -> Share:
    return Share(java.read(), java.total(), java.readRows(), java.totalRows())

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What the experiments share: tables laid out in several ways, and what a point query must read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import duckdb
from pyspark.sql import DataFrame, SparkSession

from benchmarks.demo.layouts import optimize
from benchmarks.shared.markdown import table
from benchmarks.shared.minmax import MinMax, Reads
from benchmarks.shared.ranges import point
from spark_zorder import functions as F

VALUES = 200
PAGE_ROWS = "parquet.page.row.count.limit"


@dataclass(frozen=True)
class Reading:
    """What point queries on one column must read of one layout: the mean over some values."""

    layout: str
    column: str
    files: float
    all_files: int
    pages: float
    all_pages: int

    def ruled_out(self) -> float:
        """Return the share of the column's pages that min/max rules out."""
        return 1 - self.pages / self.all_pages


@dataclass(frozen=True)
class Case:
    """One table in several layouts."""

    readings: Sequence[Reading]

    def of(self, layout: str, column: str) -> Reading:
        """Return the reading of a layout and a column."""
        (found,) = [r for r in self.readings if (r.layout, r.column) == (layout, column)]
        return found

    def text(self) -> str:
        """Return a table with one line a layout: files read, and pages ruled out, by column."""
        layouts = list(dict.fromkeys(r.layout for r in self.readings))
        columns = list(dict.fromkeys(r.column for r in self.readings))
        head = ["layout", "files", "pages"]
        head += [f"{c}: {what}" for c in columns for what in ("files read", "pages ruled out")]
        rows = []
        for layout in layouts:
            found = [self.of(layout, column) for column in columns]
            line = [layout, f"{found[0].all_files:,}", f"{found[0].all_pages:,}"]
            for one in found:
                line += [f"{one.files:,.1f}", f"{one.ruled_out():.1%}"]
            rows.append(line)
        return table(head, rows)


class Lab:
    """A folder for tables, and the ways to lay them out.

    Every layout begins with the same unordered files, so that their number and size are alike, unless `files`
    says otherwise.
    """

    def __init__(self, spark: SparkSession, folder: Path, page_rows: int) -> None:
        self._spark = spark
        self._folder = folder
        # both Spark's writer and OPTIMIZE take it for the greatest number of rows of a page
        spark.conf.set(PAGE_ROWS, str(page_rows))

    def unordered(self, name: str, rows: DataFrame, files: int) -> Path:
        """Write the rows into files of equal size, which hold rows from everywhere."""
        path = self._new(name, "unordered")
        rows.repartition(files).write.parquet(str(path))
        return path

    def lexical(self, source: Path, *columns: str) -> Path:
        """Sort by the columns, the first one first, as ORDER BY does."""
        rows, files = self._spark.read.parquet(str(source)), _count(source)
        path = self._new(source.parent.name, f"lexical-{'-'.join(columns)}")
        dealt = rows.repartitionByRange(files, *columns).sortWithinPartitions(*columns)
        dealt.write.parquet(str(path))
        return path

    def by_bits(self, source: Path, *columns: str) -> Path:
        """Sort by the interleaved bits of the values themselves, as Impala does."""
        rows, files = self._spark.read.parquet(str(source)), _count(source)
        path = self._new(source.parent.name, f"bits-{'-'.join(columns)}")
        keyed = rows.withColumn("z", F.zorder_by_value(*columns))
        dealt = keyed.repartitionByRange(files, "z").sortWithinPartitions("z").drop("z")
        dealt.write.parquet(str(path))
        return path

    def optimized(self, source: Path, *columns: str, files: int | None = None) -> Path:
        """Copy the files and run OPTIMIZE ... ZORDER BY (columns) on the copy."""
        path = self._new(source.parent.name, f"optimized-{'-'.join(columns)}")
        shutil.copytree(source, path)
        size = sum(file.stat().st_size for file in path.glob("*.parquet"))
        optimize(self._spark, path, columns, size // (files or _count(source)))
        return path

    def ask(self, columns: Sequence[str], layouts: dict[str, Path]) -> Case:
        """Ask every layout for the same values of each column."""
        source = next(iter(layouts.values()))
        values = {column: _values(source, column) for column in columns}
        readings = []
        for layout, path in layouts.items():
            files = sorted(path.glob("*.parquet"))
            minmax = MinMax(files, columns)
            for column in columns:
                reads = [minmax.reads([point(column, value)]) for value in values[column]]
                readings.append(_reading(layout, column, reads))
        return Case(readings)

    def _new(self, case: str, layout: str) -> Path:
        path = self._folder / case / layout
        shutil.rmtree(path, ignore_errors=True)
        return path


def _reading(layout: str, column: str, reads: Sequence[Reads]) -> Reading:
    def average(of: Callable[[Reads], int]) -> float:
        return mean(of(one) for one in reads)

    return Reading(
        layout,
        column,
        average(lambda one: one.files.read),
        reads[0].files.total,
        average(lambda one: one.pages.read),
        reads[0].pages.total,
    )


def _count(source: Path) -> int:
    return len(list(source.glob("*.parquet")))


def _values(source: Path, column: str) -> list[int]:
    """Values of rows chosen by a hash: a value of many rows is likely to be among them."""
    with duckdb.connect() as db:
        # a whole row's hash, so that every row has the same chance
        lines = db.execute(
            f"select v from (select {column} as v, hash(*columns(*)) as h "
            f"from read_parquet('{source}/*.parquet')) where v is not null order by h, v "
            f"limit {VALUES}"
        ).fetchall()
    return [line[0] for line in lines]

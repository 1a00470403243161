"""Unordered Parquet tables that every contender starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.shared import tpcgen
from benchmarks.shared.folders import make_once
from benchmarks.speed.cases import Source, files_at


@dataclass(frozen=True)
class Table:
    """A folder of Parquet files."""

    path: Path
    rows: int
    files: int
    bytes: int

    def file_bytes(self) -> int:
        """Return the size of a file when there are as many as now."""
        return -(-self.bytes // self.files)


def unordered(spark: SparkSession, source: Source, scale: float, data: Path) -> Table:
    """Return the table of a scale factor with its rows in random order; make it when not there."""
    folder = data / f"{source.table}-{scale:g}"

    def deal(unfinished: Path) -> None:
        generated = tpcgen.generate(source.benchmark, source.table, scale, folder / "generated")
        rows = spark.read.parquet(str(generated))
        dealt = rows.repartition(files_at(scale), F.rand(1)).sortWithinPartitions(F.rand(2))
        dealt.write.parquet(str(unfinished))

    return of(make_once(folder / "unordered", deal))


def of(path: Path) -> Table:
    """Describe a folder of Parquet files."""
    files = sorted(path.glob("*.parquet"))
    return Table(path, rows_in(files), len(files), bytes_in(files))


def rows_in(files: Sequence[Path]) -> int:
    """Return the number of rows by the files' footers."""
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)


def bytes_in(files: Sequence[Path]) -> int:
    """Return the files' size."""
    return sum(file.stat().st_size for file in files)

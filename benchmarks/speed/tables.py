# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Unordered Parquet tables that every contender starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.shared import tpcgen
from benchmarks.shared.folders import make_once
from benchmarks.speed.cases import Case, files_at


@dataclass(frozen=True)
class Table:
    """A folder of Parquet files."""

    path: Path
    rows: int
    files: int
    bytes: int

    def data_files(self) -> list[Path]:
        """Return the files, sorted by path."""
        return sorted(self.path.rglob("*.parquet"))

    def partitions(self) -> int:
        """Return how many folders have files: 1 for a table without partitions."""
        return len({file.parent for file in self.data_files()})

    def file_bytes(self) -> int:
        """Return the size of a file when there are as many as now."""
        return -(-self.bytes // self.files)


def unordered(spark: SparkSession, case: Case, scale: float, data: Path) -> Table:
    """Return the table of a scale factor with its rows in random order; make it when not there.

    In a table with partitions each file is of one partition.
    """
    source, partition = case.source, case.partition
    folder = data / f"{source.table}-{scale:g}"

    def deal(unfinished: Path) -> None:
        generated = tpcgen.generate(source.benchmark, source.table, scale, folder / "generated")
        rows = spark.read.parquet(str(generated))
        if not partition:
            dealt = rows.repartition(files_at(scale), F.rand(1)).sortWithinPartitions(F.rand(2))
            dealt.write.parquet(str(unfinished))
            return
        mixed = rows.where(F.col(partition).isNotNull()).withColumn("place", F.rand(1))
        dealt = mixed.repartitionByRange(files_at(scale), partition, "place")
        placed = dealt.sortWithinPartitions(partition, "place").drop("place")
        placed.write.partitionBy(partition).parquet(str(unfinished))

    return of(make_once(folder / f"unordered{f'-by-{partition}' if partition else ''}", deal))


def of(path: Path) -> Table:
    """Describe a folder of Parquet files, which may be in folders of partitions."""
    table = Table(path, 0, 0, 0)
    files = table.data_files()
    return replace(table, rows=rows_in(files), files=len(files), bytes=bytes_in(files))


def rows_in(files: Sequence[Path]) -> int:
    """Return the number of rows by the files' footers."""
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)


def bytes_in(files: Sequence[Path]) -> int:
    """Return the files' size."""
    return sum(file.stat().st_size for file in files)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The contenders that need no other package: OPTIMIZE, and plain Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from benchmarks.shared.folders import link
from benchmarks.speed import names
from benchmarks.speed.cases import Case
from benchmarks.speed.tables import Table


@dataclass(frozen=True)
class Job:
    """The task of a contender: lay out a table, and write it to an empty folder."""

    spark: SparkSession
    case: Case
    table: Table
    folder: Path

    def by(self) -> str:
        """Return the ordering columns as SQL."""
        return ", ".join(self.case.columns)

    def optimize(self, table: str) -> str:
        """Return our statement for a table."""
        size = self.table.file_bytes()
        return f"OPTIMIZE TABLE {table} ZORDER BY ({self.by()}) OPTIONS ('targetFileSize' '{size}')"


@dataclass(frozen=True)
class Ready:
    """A contender after its set-up, ready to run."""

    run: Callable[[], Sequence[Row]]
    files: Callable[[], Sequence[Path]]
    # how many files the table's own scan reads where a column has a value; None for plain files
    planned: Callable[[str, Any], int] | None = None


# does the set-up, which is not timed
Contender = Callable[[Job], Ready]


def ours_and_limits() -> dict[str, Contender]:
    """Return the contenders that need no other package, by their names."""
    made: tuple[Contender, ...] = (_copy, _plain_unsorted, _plain, _lexical, _optimize)
    return dict(zip(names.OURS_AND_LIMITS, made, strict=True))


def _copy(job: Job) -> Ready:
    """Read and write each file: the lower limit for all contenders."""
    largest = max(file.stat().st_size for file in job.table.data_files())
    setting = "spark.sql.files.maxPartitionBytes"

    def run() -> Sequence[Row]:
        # one task a file, as many as the others write
        job.spark.conf.set(setting, str(largest))
        try:
            _rows(job).write.parquet(str(job.folder / "out"))
        finally:
            job.spark.conf.unset(setting)
        return []

    return Ready(run, lambda: parquet_files(job.folder / "out"))


def _plain(job: Job) -> Ready:
    return _written(job, lambda: _rows(job).repartition(job.table.files))


def _plain_unsorted(job: Job) -> Ready:
    """Deal the rows without Spark's sort, which makes a repeated task deal them alike."""
    ready = _plain(job)
    setting = "spark.sql.execution.sortBeforeRepartition"

    def run() -> Sequence[Row]:
        job.spark.conf.set(setting, "false")
        try:
            return ready.run()
        finally:
            job.spark.conf.unset(setting)

    return Ready(run, ready.files)


def _lexical(job: Job) -> Ready:
    columns = job.case.columns
    return _written(
        job,
        lambda: (
            _rows(job).repartitionByRange(job.table.files, *columns).sortWithinPartitions(*columns)
        ),
    )


def _optimize(job: Job) -> Ready:
    table = link(job.table.path, job.folder / "table")
    statement = job.optimize(f"parquet.`{table}`")
    return Ready(lambda: job.spark.sql(statement).collect(), lambda: parquet_files(table))


def _rows(job: Job) -> DataFrame:
    return job.spark.read.parquet(str(job.table.path))


def _written(job: Job, dealt: Callable[[], DataFrame]) -> Ready:
    def run() -> Sequence[Row]:
        dealt().write.parquet(str(job.folder / "out"))
        return []

    return Ready(run, lambda: parquet_files(job.folder / "out"))


def parquet_files(folder: Path) -> list[Path]:
    """Return the data files of a table's folder."""
    # hidden folders have the files that a run has replaced, and the index
    found = (file.relative_to(folder) for file in folder.rglob("*.parquet"))
    return sorted(folder / f for f in found if not any(p[0] in "_." for p in f.parts))

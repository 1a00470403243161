# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Spark and DuckDB as engines of the queries: seconds, bytes read, and rows found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Run:
    """One run of a query; bytes and files are None if the engine does not report them."""

    seconds: float
    bytes_read: int | None
    rows: int
    files: int | None = None


class Spark:
    """Spark; bytes are the input metrics of its tasks, files those of its plan."""

    def __init__(self, spark: SparkSession, skipping: bool) -> None:
        self.name = "Spark with the index" if skipping else "Spark"
        self._skipping = str(skipping).lower()
        self._spark = spark
        self._context = spark._jsc.sc()

    def run(self, table: Path, where: str) -> Run:
        """Run ``select * ... where``, and read all columns of the result."""
        self._spark.conf.set("spark.zorder.skipping.enabled", self._skipping)
        before = self._bytes_read()
        start = time.perf_counter()
        query = self._spark.read.parquet(str(table)).where(where)
        found = query.toArrow()
        seconds = time.perf_counter() - start
        return Run(seconds, self._bytes_read() - before, found.num_rows, _planned_files(query))

    def _bytes_read(self) -> int:
        # metrics arrive on a queue of their own, after the query's result
        self._context.listenerBus().waitUntilEmpty()
        return int(self._context.statusStore().executorSummary("driver").totalInputBytes())


def _planned_files(query: DataFrame) -> int:
    scan = query._jdf.queryExecution().executedPlan().collectLeaves().head()
    return int(scan.metrics().apply("numFiles").value())


class DuckDB:
    """DuckDB; bytes are those that the operating system returned to this process meanwhile.

    DuckDB's own profile leaves out the bytes that it prefetches.
    """

    name = "DuckDB"

    def __init__(self) -> None:
        self._db = duckdb.connect()
        # else a second run would read from DuckDB's memory
        self._db.execute("set enable_external_file_cache = false")

    def run(self, table: Path, where: str) -> Run:
        """Run ``select * ... where``, and read all columns of the result."""
        before = _bytes_given()
        start = time.perf_counter()
        query = f"from read_parquet('{table}/*.parquet') where {where}"
        rows = self._db.execute(query).to_arrow_table().num_rows
        seconds = time.perf_counter() - start
        after = _bytes_given()
        given = after - before if after is not None and before is not None else None
        return Run(seconds, given, rows)


def _bytes_given() -> int | None:
    counters = Path("/proc/self/io")
    if not counters.exists():  # not Linux
        return None
    return int(counters.read_text().split()[1])

"""Two engines that run the queries: seconds, bytes read and rows found, as each reports them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Run:
    """One run of a query; bytes are None where nothing reports them."""

    seconds: float
    bytes_read: int | None
    rows: int


class Spark:
    """Reads whole rows; bytes are the input metrics of its tasks."""

    name = "Spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._context = spark._jsc.sc()

    def run(self, table: Path, where: str) -> Run:
        """Run ``select * ... where`` and read every column of the rows that it finds."""
        before = self._bytes_read()
        start = time.perf_counter()
        found = self._spark.read.parquet(str(table)).where(where).toArrow()
        seconds = time.perf_counter() - start
        return Run(seconds, self._bytes_read() - before, found.num_rows)

    def _bytes_read(self) -> int:
        # metrics arrive on a queue of their own, after the query's result
        self._context.listenerBus().waitUntilEmpty()
        return int(self._context.statusStore().executorSummary("driver").totalInputBytes())


class DuckDB:
    """Reads whole rows; bytes are what the operating system gave this process meanwhile.

    DuckDB's own profile leaves out the bytes that it prefetches.
    """

    name = "DuckDB"

    def __init__(self) -> None:
        self._db = duckdb.connect()
        # else a second run would read from DuckDB's memory
        self._db.execute("set enable_external_file_cache = false")

    def run(self, table: Path, where: str) -> Run:
        """Run ``select * ... where`` and read every column of the rows that it finds."""
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

"""Two engines that run the queries: seconds, bytes read and rows found, as each reports them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Run:
    """One run of a query."""

    seconds: float
    bytes_read: int
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
    """Reads whole rows; bytes are those of its query profile."""

    name = "DuckDB"

    def __init__(self) -> None:
        self._db = duckdb.connect()
        # else a second run would read from DuckDB's memory and report no bytes
        self._db.execute("set enable_external_file_cache = false")
        self._db.execute("pragma enable_profiling = 'no_output'")

    def run(self, table: Path, where: str) -> Run:
        """Run ``select * ... where`` and read every column of the rows that it finds."""
        start = time.perf_counter()
        query = f"from read_parquet('{table}/*.parquet') where {where}"
        rows = self._db.execute(query).to_arrow_table().num_rows
        seconds = time.perf_counter() - start
        profile = json.loads(self._db.get_profiling_information(format="json"))
        return Run(seconds, profile["io"]["total_bytes_read"], rows)

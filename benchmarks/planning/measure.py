# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Queries that need one file of many, and queries that no index helps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.planning import files
from benchmarks.planning.results import DELTA, ICEBERG, OURS, SPARK, Measured
from benchmarks.shared.folders import link
from benchmarks.speed.session import CATALOG

HELD, NEW = "point query, listing held", "point query, new listing"
LISTING = "files of a point query, listing held"
NO_FILTER, NO_USE = "plan without a filter", "plan with a filter of no use"

Frame = Callable[[], DataFrame]


class Planning:
    """Measurements in one session; random ids avoid repeated queries."""

    def __init__(self, spark: SparkSession, seed: int = 1) -> None:
        self._spark = spark
        self._random = random.Random(seed)
        factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
        self._threads = factory.getThreadMXBean()

    def index(self, table: Path) -> None:
        """Create the skipping index of a table."""
        self._spark.sql(f"CREATE IF NOT EXISTS ZORDER INDEX ON '{table.absolute()}'").collect()

    def read(self, table: Path) -> DataFrame:
        """Return the table with a new listing of its files."""
        return self._spark.read.parquet(str(table.absolute()))

    def useless(self, table: Path, count: int, rounds: int) -> Iterator[Measured]:
        """Plan queries that cannot skip a file, with and without the extension.

        In time of the processor, like the listing: a few milliseconds are too little for a clock.
        """
        for what, where in ((NO_FILTER, "true"), (NO_USE, "hash(id, name) = 1")):
            df = self.read(table)
            runs: dict[str, list[float]] = {SPARK: [], OURS: []}
            for turn in range(2 * rounds):
                for name, millis in runs.items():
                    with self._setting("spark.zorder.enabled", name == OURS):
                        took = self._processor_millis(partial(_plan, df, where))
                    if turn >= rounds:
                        millis.append(took)
            for name, millis in runs.items():
                yield Measured(what, name, count, millis)

    def listing(self, table: Path, count: int, rounds: int) -> Iterator[Measured]:
        """Time the file index of a scan: Spark's part, and all of the listing."""
        df = self.read(table)
        runs: dict[str, list[float]] = {SPARK: [], OURS: []}
        for turn in range(rounds + 10):
            scan = _scan(df.where(f"id = {self._id(count)}"))
            location = scan.relation().location()
            for name, index in ((SPARK, location.delegate()), (OURS, location)):
                args = (scan.partitionFilters(), scan.dataFilters())
                took = self._processor_millis(partial(index.listFiles, *args))
                if turn >= 10:
                    runs[name].append(took)
        for name, millis in runs.items():
            yield Measured(LISTING, name, count, millis)

    def points(
        self, what: str, count: int, rounds: int, contenders: Mapping[str, Frame]
    ) -> Iterator[Measured]:
        """Plan a query for one row; contenders take turns, and round 0 is a warm-up."""
        runs: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(rounds + 1):
            wanted = self._id(count)
            for name, frame in contenders.items():
                with self._setting("spark.zorder.skipping.enabled", name != SPARK):
                    took = _millis(partial(_one, frame, wanted))
                if turn:
                    runs[name].append(took)
        for name, millis in runs.items():
            yield Measured(what, name, count, millis)

    def delta(self, table: Path, scratch: Path) -> Frame:
        """Create a Delta table on the same files, with statistics for all of them."""
        copy = link(table, scratch / "delta")
        self._spark.sql(f"CONVERT TO DELTA parquet.`{copy.absolute()}`")
        return lambda: self._spark.read.format("delta").load(str(copy.absolute()))

    def iceberg(self, table: Path, scratch: Path) -> Frame:
        """Create an Iceberg table on the same files."""
        copy = link(table, scratch / "imported")
        name = "planning.imported"
        self._spark.sql(f"CREATE TABLE {CATALOG}.{name} ({files.COLUMNS}) USING iceberg")
        self._spark.sql(
            f"CALL {CATALOG}.system.add_files('{name}', 'parquet.`{copy.absolute()}`')"
        ).collect()
        return lambda: self._spark.table(f"{CATALOG}.{name}")

    def compare(
        self, table: Path, count: int, rounds: int, peers: Path | None
    ) -> Iterator[Measured]:
        """Query a row with all contenders: from an existing data frame, and from a new one."""
        makers: dict[str, Frame] = {SPARK: lambda: self.read(table), OURS: lambda: self.read(table)}
        if peers:
            makers[DELTA] = self.delta(table, peers)
            makers[ICEBERG] = self.iceberg(table, peers)
        held = {name: _held(make()) for name, make in makers.items()}
        yield from self.points(HELD, count, rounds, held)
        yield from self.points(NEW, count, rounds, makers)

    def _id(self, count: int) -> int:
        return self._random.randrange(count * files.ROWS_OF_FILE)

    def _processor_millis(self, action: Callable[[], object]) -> float:
        """Return the CPU time of the planning thread, which depends less on other load."""
        # pyspark uses one Java thread for each Python thread
        start = self._threads.getCurrentThreadCpuTime()
        action()
        return float(self._threads.getCurrentThreadCpuTime() - start) / 1e6

    @contextmanager
    def _setting(self, key: str, on: bool) -> Iterator[None]:
        self._spark.conf.set(key, str(on).lower())
        try:
            yield
        finally:
            self._spark.conf.unset(key)


def _held(df: DataFrame) -> Frame:
    return lambda: df


def _one(frame: Frame, wanted: int) -> None:
    rows = frame().where(f"id = {wanted}").collect()
    if [row.id for row in rows] != [wanted]:
        raise AssertionError(f"id = {wanted} found {rows}")


def _plan(df: DataFrame, where: str) -> None:
    """Plan a query up to its first task: the files, and their assignment to tasks."""
    df.where(where)._jdf.queryExecution().toRdd().getNumPartitions()


def _scan(df: DataFrame) -> Any:
    return df._jdf.queryExecution().sparkPlan().collectLeaves().head()


def _millis(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)

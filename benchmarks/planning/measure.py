"""Queries that need one file of many, and queries for which no index is of use."""

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
    """One session; random ids, so that no query is asked twice."""

    def __init__(self, spark: SparkSession, seed: int = 1) -> None:
        self._spark = spark
        self._random = random.Random(seed)
        factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
        self._threads = factory.getThreadMXBean()

    def index(self, table: Path) -> None:
        """Give a table its skipping index."""
        self._spark.sql(f"CREATE IF NOT EXISTS ZORDER INDEX ON '{table.absolute()}'").collect()

    def read(self, table: Path) -> DataFrame:
        """Return the table, listed now."""
        return self._spark.read.parquet(str(table.absolute()))

    def useless(self, table: Path, count: int, rounds: int) -> Iterator[Measured]:
        """Plan queries for which there is nothing to skip, with this extension and without.

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
        """Ask the file index of a scan for its files: what Spark does of it, and all of it."""
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
        """Look for one row; contenders take turns, and round 0 warms up."""
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
        """Make a Delta table of the same files, with statistics of all of them."""
        copy = link(table, scratch / "delta")
        self._spark.sql(f"CONVERT TO DELTA parquet.`{copy.absolute()}`")
        return lambda: self._spark.read.format("delta").load(str(copy.absolute()))

    def iceberg(self, table: Path, scratch: Path) -> Frame:
        """Make an Iceberg table of the same files."""
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
        """Ask all contenders for a row: of a data frame that they have, and of a new one."""
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
        """Return what the one thread took that plans: less than a wait for a busy machine."""
        # pyspark has a thread of Java's for each of Python's
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
    """Do everything up to the first task: the files, and which task reads which."""
    df.where(where)._jdf.queryExecution().toRdd().getNumPartitions()


def _scan(df: DataFrame) -> Any:
    return df._jdf.queryExecution().sparkPlan().collectLeaves().head()


def _millis(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)

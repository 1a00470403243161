# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Insert a table in different declared orders; print time and what queries then read."""

from __future__ import annotations

import argparse
import datetime
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.insert.session import start
from benchmarks.insert.tasks import task_seconds
from benchmarks.shared.markdown import table
from benchmarks.shared.minmax import MinMax
from benchmarks.shared.ranges import Range, point
from benchmarks.speed.cases import CASES
from benchmarks.speed.tables import Table, of, unordered

VALUES = 50


@dataclass(frozen=True)
class Way:
    """A way to insert: the declared order, the setting `write`, and whether OPTIMIZE follows."""

    name: str
    order: str
    write: str
    has_grid: bool = False
    optimizes: bool = False


WAYS = (
    Way("plain", "ZORDER", "none"),
    Way("lexical", "LEXICAL", "sort"),
    Way("sort, no grid", "ZORDER", "sort"),
    Way("sort, by the grid", "ZORDER", "sort", has_grid=True),
    Way("cells", "ZORDER", "cells", has_grid=True),
    Way("sampled, no grid", "ZORDER", "sampled"),
    Way("plain and OPTIMIZE", "ZORDER", "none", optimizes=True),
)


def main() -> None:
    """Measure every way on every case, the rounds in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.insert", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="*", default=["sales-2", "lines-2"])
    options = parser.parse_args()
    spark = start("inserts", "4g", options.data)
    for name in options.cases:
        case = next(c for c in CASES if c.name == name)
        source = unordered(spark, case, options.scale, options.data)
        print(f"\n{name}: {source.rows:,} rows, {source.bytes / 1e6:,.0f} MB\n")
        scratch = options.data.absolute() / "insert"
        print(_compare(Bench(spark, source, case.columns, scratch), options.rounds))


def _compare(bench: Bench, rounds: int) -> str:
    spark, columns = bench.spark, bench.columns
    # as many tasks of an insert as there are files in the source
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(bench.source.file_bytes()))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    base = bench.base()
    ranges = _points(spark, bench.source, columns)
    lines: dict[Way, list[str]] = {}
    times: dict[Way, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            times[way].append(bench.run(way, base))
            lines[way] = _quality(bench.scratch / "t", ranges, columns)
    plain, plain_cpu = (median(t[i] for t in times[WAYS[0]]) for i in (0, 1))
    rows = []
    for way in WAYS:
        walls, cpus = (sorted(t[i] for t in times[way]) for i in (0, 1))
        wall, cpu = median(walls), median(cpus)
        rows.append(
            [
                way.name,
                _spread(walls),
                f"{wall / plain:.2f}",
                _spread(cpus),
                f"{cpu / plain_cpu:.2f}",
            ]
            + lines[way]
        )
    return table(
        ["insert", "s", "of plain", "CPU s", "of plain", "files", "files read", "excess",
         "row groups read", "pages read"],
        rows,
    )  # fmt: skip


def _spread(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f} ({seconds[0]:.1f} to {seconds[-1]:.1f})"


@dataclass(frozen=True)
class Bench:
    """What all inserts of one case share."""

    spark: SparkSession
    source: Table
    columns: Sequence[str]
    scratch: Path

    def base(self) -> Path:
        """Return a table with the same rows that OPTIMIZE has laid out, so that it has a grid."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        base = self.scratch / "base"
        self.create("ZORDER", "none", base)
        self.insert()
        self.spark.sql("OPTIMIZE TABLE t").collect()
        return base

    def create(self, order: str, write: str, location: Path) -> None:
        """Create the table `t`."""
        self.spark.sql("DROP TABLE IF EXISTS t")
        schema = self.spark.read.parquet(str(self.source.path)).schema
        fields = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
        self.spark.sql(
            f"CREATE TABLE t ({fields}) USING parquet "
            f"SORT BY {order} ({', '.join(self.columns)}) LOCATION '{location}' TBLPROPERTIES ("
            f"'zorder.targetFileSize' = '{self.source.file_bytes()}', 'zorder.write' = '{write}')"
        )

    def insert(self) -> None:
        """Insert all rows of the source into `t`."""
        self.spark.sql(f"INSERT INTO t SELECT * FROM parquet.`{self.source.path.absolute()}`")

    def run(self, way: Way, base: Path) -> tuple[float, float]:
        """Insert into a new table; return seconds of the clock and of the tasks' processors."""
        location = self.scratch / "t"
        shutil.rmtree(location, ignore_errors=True)
        if way.has_grid:
            (location / "_zorder").mkdir(parents=True)
            shutil.copytree(base / "_zorder" / "_grid", location / "_zorder" / "_grid")
        self.create(way.order, way.write, location)
        wall, cpu = time.perf_counter(), task_seconds(self.spark)
        self.insert()
        if way.optimizes:
            self.spark.sql("OPTIMIZE TABLE t").collect()
        return time.perf_counter() - wall, task_seconds(self.spark) - cpu


def _points(
    spark: SparkSession, source: Table, columns: Sequence[str]
) -> dict[str, list[Range[int]]]:
    rows = spark.read.parquet(str(source.path)).select(*columns).dropna()
    some = rows.sample(0.01, seed=7).limit(VALUES).collect()
    return {c: [point(c, _stored(row[c])) for row in some] for c in columns}


def _stored(value: Any) -> int:
    return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value


def _quality(
    location: Path, ranges: dict[str, list[Range[int]]], columns: Sequence[str]
) -> list[str]:
    files = sorted(location.glob("*.parquet"))
    layout = MinMax(files, columns)
    reads = [layout.reads([r]) for of_column in ranges.values() for r in of_column]

    def mean(part: str) -> float:
        return sum(float(getattr(r, part).fraction()) for r in reads) / len(reads)

    share = mean("files")
    excess = share * len(files) ** (1 / len(columns))
    return [
        str(of(location).files),
        f"{share:.3f}",
        f"{excess:.2f}",
        f"{mean('row_groups'):.3f}",
        f"{mean('pages'):.3f}",
    ]


if __name__ == "__main__":
    main()

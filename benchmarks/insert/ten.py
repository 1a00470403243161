# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Insert ten times, of one distribution and in the order of time; print seconds and overlap."""

from __future__ import annotations

import argparse
import datetime
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import pyarrow.parquet  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.insert.session import start
from benchmarks.insert.tasks import task_seconds
from benchmarks.shared.markdown import table
from benchmarks.shared.minmax import MinMax
from benchmarks.shared.ranges import point
from benchmarks.speed.cases import CASES
from benchmarks.speed.tables import bytes_in, unordered

INSERTS = 10
FILES = 6
VALUES = 40
# the setting `write` of each table; each insert goes into all tables before the next insert
WAYS = ("none", "sort", "cells")
HEAD = [
    "write",
    "s",
    "of none",
    "CPU s",
    "of none",
    "files",
    "excess of an insert",
    "largest",
    "excess of all",
    "rewritten, of inserted",
    "excess after OPTIMIZE",
]


@dataclass
class Series:
    """The inserts of one table after the first one."""

    location: Path
    seconds: list[tuple[float, float]] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    excess: list[float] = field(default_factory=list)


def main() -> None:
    """Run both series."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.insert.ten", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    spark = start("ten inserts", "3g", options.data)
    case = next(c for c in CASES if c.name == "lines-2")
    source = unordered(spark, case, options.scale, options.data)
    scratch = options.data.absolute() / "ten"
    for title, by_time in (
        ("rows of one distribution", False),
        ("rows in the order of time", True),
    ):
        shutil.rmtree(scratch, ignore_errors=True)
        parts = deal(spark, source.path, "l_shipdate" if by_time else None, scratch)
        print(f"\n{case.name}, {INSERTS} inserts, {title}\n")
        print(run(spark, parts, case.columns, scratch), flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


def deal(spark: SparkSession, source: Path, by: str | None, scratch: Path) -> list[Path]:
    """Write the rows of each insert: by chance, or by ranges of a date."""
    rows = spark.read.parquet(str(source))
    if by:
        day = F.datediff(F.col(by), F.lit("1970-01-01"))
        rows = rows.withColumn("day", day)
        cuts = rows.approxQuantile("day", [i / INSERTS for i in range(1, INSERTS)], 0.001)
        number = sum(((F.col("day") >= cut).cast("int") for cut in cuts), F.lit(0))
    else:
        number = F.pmod(F.xxhash64(*rows.columns), F.lit(INSERTS)).cast("int")
    dealt = rows.withColumn("insert", number).drop("day")
    parts = scratch / "parts"
    dealt.repartition(FILES).write.partitionBy("insert").parquet(str(parts))
    return [parts / f"insert={i}" for i in range(INSERTS)]


def run(spark: SparkSession, parts: list[Path], columns: Sequence[str], scratch: Path) -> str:
    """Insert every part into a table of each way; return a table of what was measured."""
    size = _file_bytes(parts[0])
    # as many tasks as files
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(2 * size))
    spark.conf.set("spark.sql.files.openCostInBytes", str(2 * size))
    every = {way: Series(scratch / way) for way in WAYS}
    for way, one in every.items():
        _create(spark, way, parts[0], columns, one.location)
        _insert(spark, way, parts[0])
        # a table has a grid once it was optimized
        spark.sql(f"OPTIMIZE TABLE ten_{way} FULL").collect()
    for i, part in enumerate(parts[1:]):
        # the ways in turns, each the first one at some time
        for way in WAYS[i % len(WAYS) :] + WAYS[: i % len(WAYS)]:
            one = every[way]
            before = set(one.location.glob("*.parquet"))
            wall, cpu = time.perf_counter(), task_seconds(spark)
            _insert(spark, way, part)
            one.seconds.append((time.perf_counter() - wall, task_seconds(spark) - cpu))
            new = set(one.location.glob("*.parquet")) - before
            one.files.append(len(new))
            one.excess.append(_excess(sorted(new), columns))
    base = every[WAYS[0]].seconds
    return table(HEAD, [_line(spark, way, one, columns, base) for way, one in every.items()])


def _line(
    spark: SparkSession,
    way: str,
    one: Series,
    columns: Sequence[str],
    base: list[tuple[float, float]],
) -> list[str]:
    files = sorted(one.location.glob("*.parquet"))
    cells = [way]
    for i, digits in ((0, 1), (1, 1)):
        seconds = [s[i] for s in one.seconds]
        ratios = [s / b[i] for s, b in zip(seconds, base, strict=True)]
        cells += [f"{median(seconds):.{digits}f}", f"{median(ratios):.2f}"]
    cells += [f"{mean(one.files):.1f}", f"{mean(one.excess):.2f}", f"{max(one.excess):.2f}"]
    cells.append(f"{_excess(files, columns):.2f}")
    inserted = bytes_in(files)
    spark.sql(f"OPTIMIZE TABLE ten_{way}").collect()
    after = sorted(one.location.glob("*.parquet"))
    rewritten = bytes_in(sorted(set(after) - set(files)))
    return [*cells, f"{rewritten / inserted:.2f}", f"{_excess(after, columns):.2f}"]


def _create(
    spark: SparkSession, way: str, part: Path, columns: Sequence[str], location: Path
) -> None:
    schema = spark.read.parquet(str(part)).schema
    fields = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
    spark.sql(f"DROP TABLE IF EXISTS ten_{way}")
    spark.sql(
        f"CREATE TABLE ten_{way} ({fields}) USING parquet SORT BY ZORDER ({', '.join(columns)}) "
        f"LOCATION '{location}' TBLPROPERTIES ("
        f"'zorder.targetFileSize' = '{_file_bytes(part)}', 'zorder.write' = '{way}')"
    )


def _file_bytes(part: Path) -> int:
    return bytes_in(sorted(part.glob("*.parquet"))) // FILES


def _insert(spark: SparkSession, way: str, part: Path) -> None:
    spark.sql(f"INSERT INTO ten_{way} SELECT * FROM parquet.`{part}`")


def _excess(files: Sequence[Path], columns: Sequence[str]) -> float:
    """Return the files of a point query by those of a perfect layout, over the columns."""
    layout = MinMax(files, columns)
    shares = []
    for column in columns:
        bounds = _bounds(files, column)
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        values = [low + (high - low) * (2 * i + 1) // (2 * VALUES) for i in range(VALUES)]
        shares += [layout.reads([point(column, v)]).files.fraction() for v in values]
    return float(mean(shares) * len(files) ** (1 / len(columns)))


def _bounds(files: Sequence[Path], column: str) -> list[tuple[int, int]]:
    found = []
    for file in files:
        metadata = pyarrow.parquet.read_metadata(file)
        at = metadata.schema.to_arrow_schema().names.index(column)
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(at).statistics
            if statistics is not None and statistics.has_min_max:
                found.append((_stored(statistics.min), _stored(statistics.max)))
    return found


def _stored(value: Any) -> int:
    return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value


if __name__ == "__main__":
    main()

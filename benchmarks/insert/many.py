# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Insert many times, OPTIMIZE now and then; print what is written, and what queries read."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.insert.session import start
from benchmarks.shared.markdown import table
from benchmarks.shared.minmax import MinMax
from benchmarks.shared.ranges import point

VALUES = 40
COLUMNS = ("a", "b")
DISTINCT = 1_000_000
HEAD = [
    "write",
    "files",
    "bytes inserted",
    "rewritten, of inserted",
    "mean excess",
    "largest",
    "mean excess after OPTIMIZE",
    "largest",
]


@dataclass(frozen=True)
class Series:
    """Inserts of `rows` rows each, with an OPTIMIZE after each `every` of them."""

    inserts: int
    every: int
    rows: int


@dataclass
class Outcome:
    """What a series of inserts has cost, and the excess after each of them."""

    inserted: int = 0
    rewritten: int = 0
    files: int = 0
    always: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    def line(self, write: str) -> list[str]:
        """Return a line of the table."""
        excess = [f(of) for of in (self.always, self.after) for f in (mean, max)]
        return [
            write,
            str(self.files),
            f"{self.inserted:,}",
            f"{self.rewritten / self.inserted:.2f}",
            *(f"{e:.2f}" for e in excess),
        ]


def main() -> None:
    """Run the series once for each way to write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.insert.many", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--inserts", type=int, default=64)
    parser.add_argument("--every", type=int, default=8, help="inserts between two OPTIMIZE")
    parser.add_argument("--rows", type=int, default=50_000, help="rows of an insert")
    parser.add_argument("--ways", nargs="*", default=["cells", "none"])
    options = parser.parse_args()
    spark = start("many inserts", "2g", options.data)
    location = options.data.absolute() / "many"
    lines = []
    for write in options.ways:
        shutil.rmtree(location, ignore_errors=True)
        series = Series(options.inserts, options.every, options.rows)
        outcome = run(spark, location, write, series)
        lines.append(outcome.line(write))
        print(table(HEAD, lines), flush=True)


def run(spark: SparkSession, location: Path, write: str, series: Series) -> Outcome:
    """Insert and optimize; the OPTIMIZE after the first insert leaves the grid."""
    rows = series.rows
    spark.sql("DROP TABLE IF EXISTS many")
    spark.sql(
        "CREATE TABLE many (a INT, b INT, text STRING) USING parquet SORT BY ZORDER (a, b) "
        f"LOCATION '{location}' TBLPROPERTIES ("
        # about six files an insert
        f"'zorder.targetFileSize' = '{rows * 24 // 6}', 'zorder.write' = '{write}')"
    )
    outcome = Outcome()
    for i in range(series.inserts):
        before = _sizes(location)
        _rows(spark, rows, i).write.insertInto("many")
        outcome.inserted += _new(before, _sizes(location))
        if i == 0:
            # not counted: a table has a grid once it was optimized
            spark.sql("OPTIMIZE TABLE many FULL").collect()
        elif (i + 1) % series.every == 0:
            before = _sizes(location)
            spark.sql("OPTIMIZE TABLE many").collect()
            outcome.rewritten += _new(before, _sizes(location))
            outcome.after.append(excess(location))
        outcome.always.append(excess(location))
    outcome.files = len(_sizes(location))
    assert spark.table("many").count() == series.inserts * rows
    return outcome


def excess(location: Path) -> float:
    """Return the files of a point query by those of a perfect layout, over both columns."""
    files = sorted(location.glob("*.parquet"))
    layout = MinMax(files, COLUMNS)
    values: Sequence[int] = [i * DISTINCT // VALUES + 7 for i in range(VALUES)]
    reads = [layout.reads([point(c, v)]).files.fraction() for c in COLUMNS for v in values]
    share: float = mean(reads)
    return share * float(len(files) ** (1 / len(COLUMNS)))


def _rows(spark: SparkSession, rows: int, seed: int) -> DataFrame:
    def below(column: int) -> Column:
        return F.pmod(F.xxhash64("id", F.lit(seed), F.lit(column)), F.lit(DISTINCT)).cast("int")

    text = F.hex(F.xxhash64("id", F.lit(seed)))
    return spark.range(0, rows, 1, 2).select(
        below(0).alias("a"), below(1).alias("b"), text.alias("text")
    )


def _sizes(location: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in location.glob("*.parquet")}


def _new(before: dict[str, int], after: dict[str, int]) -> int:
    return sum(size for name, size in after.items() if name not in before)


if __name__ == "__main__":
    main()

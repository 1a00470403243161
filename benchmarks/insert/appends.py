# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Append 64 times, OPTIMIZE after each; print how many rows are written again, and the excess.

The appends are files of another writer, pyarrow. The kinds are those of ``KeptRowsSuite``, which
simulates the files.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from benchmarks.insert.session import start
from benchmarks.shared.markdown import table

APPENDS = 64
FILES = 16
ROWS_OF_FILE = 100
# of the text that gives each row its bytes
BYTES_OF_ROW = 600
KINDS = (("time", 2), ("time", 3), ("equal", 2), ("equal", 3), ("late", 2))
HEAD = [
    "appends",
    "columns",
    "rewritten, of appended",
    "mean excess",
    "largest",
    "files at the end",
]
CURVE = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """What a series of appends has cost, and the excess after each OPTIMIZE."""

    kind: str
    columns: int
    rewritten: float
    excess: list[float]
    files: int

    def line(self) -> list[str]:
        """Return a line of the table."""
        excess = [f"{f(self.excess):.2f}" for f in (mean, max)]
        return [self.kind, f"{self.columns}", f"{self.rewritten:.2f}", *excess, f"{self.files}"]

    def curve(self) -> list[str]:
        """Return the excess after some of the appends."""
        return [self.kind, f"{self.columns}", *(f"{self.excess[i - 1]:.2f}" for i in CURVE)]


def main() -> None:
    """Run each kind of appends."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.insert.appends", description=__doc__
    )
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    data: Path = options.data.absolute()
    spark = start("appends", "2g", data)
    outcomes = [run(spark, kind, d, options.seed, data / "appends") for kind, d in KINDS]
    print(table(HEAD, [o.line() for o in outcomes]))
    print(f"\nThe excess after an append, seed {options.seed}\n")
    print(table(["appends", "columns", *map(str, CURVE)], [o.curve() for o in outcomes]))


def run(spark: SparkSession, kind: str, d: int, seed: int, folder: Path) -> Outcome:
    """Append, and lay out, in one folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    rows = rows_of(kind, d, random)
    columns = ", ".join(names(d))
    written, size, excess = 0, 0, []
    for i, appended in enumerate(np.split(rows, APPENDS)):
        append(appended, folder, i, random)
        if size == 0:
            size = round(mean(f.stat().st_size for f in folder.glob("*.parquet")))
        row = spark.sql(
            f"OPTIMIZE TABLE parquet.`{folder}` ZORDER BY ({columns}) "
            f"OPTIONS ('targetFileSize' '{size}', 'retention' '0h')"
        ).collect()[0]
        written += row.metrics.numRows
        excess.append(excess_of(folder, rows[: (i + 1) * len(appended)]))
    files = len(list(folder.glob("*.parquet")))
    shutil.rmtree(folder)
    outcome = Outcome(kind, d, (written - len(rows)) / len(rows), excess, files)
    print(json.dumps(outcome.__dict__), flush=True)
    return outcome


def names(d: int) -> list[str]:
    """Return the names of the ordering columns."""
    return [f"c{i}" for i in range(d)]


def rows_of(kind: str, d: int, random: np.random.Generator) -> Rows:
    """Return the rows as they come; of `time` and `late` the first column is the time."""
    count = APPENDS * FILES * ROWS_OF_FILE
    values = random.random((count, d))
    if kind != "equal":
        delay = random.exponential(0.002, count)
        if kind == "late":
            delay += np.where(random.random(count) < 0.02, 0.25 * random.random(count), 0)
        values = values[np.argsort(values[:, 0] + delay)]
    return (values * 1e12).astype(np.int64)


def append(rows: Rows, folder: Path, number: int, random: np.random.Generator) -> None:
    """Write the files of one append."""
    for i, part in enumerate(np.split(rows, FILES)):
        columns = dict(zip(names(rows.shape[1]), part.T, strict=True))
        text = [random.bytes(BYTES_OF_ROW // 2).hex() for _ in part]
        pyarrow.parquet.write_table(
            pyarrow.table({**columns, "text": text}), folder / f"append-{number}-{i}.parquet"
        )


def excess_of(folder: Path, rows: Rows) -> float:
    """Return how many files a point query reads, of those that the best layout would read."""
    d = rows.shape[1]
    ordered = [np.sort(rows[:, c]) for c in range(d)]
    read = 0.0
    for file in folder.glob("*.parquet"):
        groups = pyarrow.parquet.read_metadata(file)
        for c in range(d):
            bounds = [
                groups.row_group(g).column(c).statistics for g in range(groups.num_row_groups)
            ]
            low, high = min(b.min for b in bounds), max(b.max for b in bounds)
            at = (
                np.searchsorted(ordered[c], low, "left"),
                np.searchsorted(ordered[c], high, "right"),
            )
            read += (at[1] - at[0]) / len(rows) / d
    return float(read / (len(rows) / ROWS_OF_FILE) ** (1 - 1 / d))


if __name__ == "__main__":
    main()

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A hundred rows ``[x, 99 - x, (x + 50) mod 100]`` in four files: small enough to print."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from matplotlib import pyplot
from matplotlib.patches import Rectangle
from pyspark.sql import SparkSession

from benchmarks.demo.boxes import boxes
from benchmarks.demo.layouts import optimize
from benchmarks.shared import png
from spark_zorder.report import Box

COLUMNS = ("c1", "c2", "c3")
FILES = 4
PALETTE = ("#2563eb", "#ea580c", "#059669", "#7e22ce", "#ca8a04", "#db2777")


@dataclass(frozen=True)
class Tiny:
    """The four boxes before and after OPTIMIZE, and the rows of each file."""

    before: Sequence[Box]
    after: Sequence[Box]

    def text(self) -> str:
        """Return the boxes as text."""
        return "\n".join(["before:", *_lines(self.before), "after:", *_lines(self.after)])


def make(spark: SparkSession, folder: Path, target: Path) -> Tiny:
    """Run OPTIMIZE on the rows, and draw them before and after."""
    before, after = folder / "tiny-before", folder / "tiny-after"
    for table in (before, after):
        shutil.rmtree(table, ignore_errors=True)
    rows = spark.range(100).selectExpr(
        "cast(id as int) as c1", "cast(99 - id as int) as c2", "cast((id + 50) % 100 as int) as c3"
    )
    rows.repartition(FILES).write.parquet(str(before))
    shutil.copytree(before, after)
    size = sum(f.stat().st_size for f in after.glob("*.parquet"))
    optimize(spark, after, COLUMNS, size // FILES)
    _draw([("before", before), ("after ZORDER BY (c1, c2, c3)", after)], target)
    return Tiny(boxes(before, COLUMNS), boxes(after, COLUMNS))


def _lines(files: Sequence[Box]) -> list[str]:
    def side(column: str, bounds: tuple[int, int] | None) -> str:
        return (
            f"{column} only NULL"
            if bounds is None
            else f"{column} {bounds[0]:>2} to {bounds[1]:>2}"
        )

    return [
        f"  file {i + 1}: {box.rows:>3} rows, "
        + ", ".join(side(c, b) for c, b in zip(COLUMNS, box.bounds, strict=True))
        for i, box in enumerate(files)
    ]


def _draw(tables: Sequence[tuple[str, Path]], target: Path) -> None:
    planes = ((0, 1), (0, 2))
    figure, axes = pyplot.subplots(
        len(planes), len(tables), figsize=(4.4 * len(tables), 8), sharex=True, sharey=True
    )
    for line, (title, table) in enumerate(tables):
        for row, (across, up) in enumerate(planes):
            axis = axes[row][line]
            for colour, points in zip(PALETTE, _rows_by_file(table), strict=False):
                x, y = [p[across] for p in points], [p[up] for p in points]
                axis.scatter(x, y, s=14, color=colour)
                corner = (min(x) - 1, min(y) - 1)
                width, height = max(x) - min(x) + 2, max(y) - min(y) + 2
                axis.add_patch(
                    Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=1.5)
                )
            axis.set_xlabel(COLUMNS[across])
            axis.set_ylabel(COLUMNS[up])
            axis.set_aspect("equal")
        axes[0][line].set_title(title, fontweight="bold", loc="left")
    png.save(figure, target)


def _rows_by_file(table: Path) -> list[list[tuple[int, ...]]]:
    with duckdb.connect() as db:
        rows = db.execute(
            f"select filename, {', '.join(COLUMNS)} "
            f"from read_parquet('{table}/*.parquet', filename = true) order by c1"
        ).fetchall()
    files: dict[str, list[tuple[int, ...]]] = {}
    for name, *values in rows:
        files.setdefault(name, []).append(tuple(values))
    return list(files.values())

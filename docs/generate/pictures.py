# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of layout reports in `docs/layout.md`."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.shared import png
from docs.experiments import data
from docs.experiments.lab import Lab
from spark_zorder import LayoutReport, ZOrderTable

ROWS, FILES = 100_000, 16
BOTH = ("customer", "product")


def draw(spark: SparkSession, folder: Path, images: Path, rows: int = ROWS) -> list[Path]:
    """Draw every picture into `images`, and return the files. The tables are made in `folder`."""
    made = []
    for name, (before, after) in pairs(spark, folder, rows).items():
        target = images / f"layout_{name}.png"
        png.save(after.plot(before), target)
        made.append(target)
    return made


def pairs(
    spark: SparkSession, folder: Path, rows: int
) -> dict[str, tuple[LayoutReport, LayoutReport]]:
    """Lay one table out in several ways; each picture has a report before and one after."""
    lab = Lab(spark, folder, page_rows=2_000)
    source = lab.unordered("orders", _orders(spark, rows), FILES)
    in_order = _report(spark, lab.lexical(source, *BOTH))
    path = lab.optimized(source, *BOTH)
    optimized = _report(spark, path)
    for i in range(3):
        later = _orders(spark, rows).where(f"customer % 20 = {i}")
        later.repartition(1).write.mode("append").parquet(str(path))
    return {
        "unordered_and_optimized": (_report(spark, source), optimized),
        "sorted_and_optimized": (in_order, optimized),
        "after_inserts": (optimized, _report(spark, path)),
    }


def _orders(spark: SparkSession, rows: int) -> DataFrame:
    return data.uniform(spark, rows, 2).withColumnsRenamed(dict(zip("ab", BOTH, strict=True)))


def _report(spark: SparkSession, path: Path) -> LayoutReport:
    report = ZOrderTable.forPath(spark, str(path)).layout(*BOTH)
    # a report reads the table when its rows are first used, and the table changes after this call
    _ = report.rows
    return report

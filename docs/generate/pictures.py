"""The pictures of layout reports in `docs/layout.md`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.shared import png
from docs.experiments import data
from docs.experiments.lab import Lab
from spark_zorder import LayoutReport, ZOrderTable

ROWS, FILES = 400_000, 64
BOTH = ("customer", "product")


def draw(spark: SparkSession, folder: Path, images: Path, rows: int = ROWS) -> list[Path]:
    """Make every picture and return the files; tables go to the folder."""
    lab = Lab(spark, folder, page_rows=2_000)
    made = []
    for picture in (unordered_and_optimized, sorted_and_optimized, after_inserts):
        before, after = picture(spark, lab, rows)
        target = images / f"layout_{picture.__name__}.png"
        png.save(after.plot(before), target)
        made.append(target)
    return made


Reports = tuple[LayoutReport, LayoutReport]
Picture = Callable[[SparkSession, Lab, int], Reports]


def unordered_and_optimized(spark: SparkSession, lab: Lab, rows: int) -> Reports:
    """Rows in any order, and after OPTIMIZE."""
    source = lab.unordered("orders", _orders(spark, rows), FILES)
    return _report(spark, source), _report(spark, lab.optimized(source, *BOTH))


def sorted_and_optimized(spark: SparkSession, lab: Lab, rows: int) -> Reports:
    """Sorted by customer and product, and after OPTIMIZE by both."""
    source = lab.unordered("orders", _orders(spark, rows), FILES)
    return _report(spark, lab.lexical(source, *BOTH)), _report(spark, lab.optimized(source, *BOTH))


def after_inserts(spark: SparkSession, lab: Lab, rows: int) -> Reports:
    """After OPTIMIZE, and when six more inserts in no order have come."""
    source = lab.unordered("orders", _orders(spark, rows), FILES)
    path = lab.optimized(source, *BOTH)
    before = _report(spark, path)
    _ = before.rows  # looked at now: the table is about to change
    later = _orders(spark, rows // 50)
    for _ in range(6):
        later.repartition(1).write.mode("append").parquet(str(path))
    return before, _report(spark, path)


def _orders(spark: SparkSession, rows: int) -> DataFrame:
    return data.uniform(spark, rows, 2).withColumnsRenamed(dict(zip("ab", BOTH, strict=True)))


def _report(spark: SparkSession, path: Path) -> LayoutReport:
    return ZOrderTable.forPath(spark, str(path)).layout(*BOTH)

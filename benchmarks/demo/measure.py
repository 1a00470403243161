# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Measures every query on every layout, by min/max and with both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.demo.engines import DuckDB, Run, Spark
from benchmarks.demo.layouts import Layout
from benchmarks.demo.progress import step
from benchmarks.demo.queries import COLUMNS, QUERIES, Query
from benchmarks.shared.minmax import MinMax, Reads


@dataclass(frozen=True)
class Measured:
    """The results of a query on a layout; seconds are medians."""

    query: Query
    layout: Layout
    reads: Reads
    spark: Run
    indexed: Run
    duckdb: Run


def measure(spark: SparkSession, layouts: Sequence[Layout], rounds: int) -> list[Measured]:
    """Run every query on every layout; raise if the row counts of two layouts differ."""
    minmax = {layout: MinMax(layout.files(), COLUMNS) for layout in layouts}
    engines = (Spark(spark, skipping=False), Spark(spark, skipping=True), DuckDB())
    measured = []
    for query in QUERIES:
        with step(f"asking {query.where()}"):
            runs = _in_turn(engines, layouts, query, rounds)
        rows = {run.rows for group in runs.values() for run in group}
        if len(rows) != 1:
            raise AssertionError(f"{query.where()} found different numbers of rows: {rows}")
        for layout in layouts:
            reads = minmax[layout].reads(query.ranges)
            by_engine = [_middle(runs[engine.name, layout]) for engine in engines]
            measured.append(Measured(query, layout, reads, *by_engine))
    return measured


def _in_turn(
    engines: Sequence[Spark | DuckDB], layouts: Sequence[Layout], query: Query, rounds: int
) -> dict[tuple[str, Layout], list[Run]]:
    """Run a query several times; layouts take turns, so that other load affects all of them."""
    runs: dict[tuple[str, Layout], list[Run]] = {}
    # round 0 warms up
    for turn in range(rounds + 1):
        for engine in engines:
            for layout in layouts:
                run = engine.run(layout.path, query.where())
                if turn:
                    runs.setdefault((engine.name, layout), []).append(run)
    return runs


def _middle(runs: Sequence[Run]) -> Run:
    reads = [r.bytes_read for r in runs if r.bytes_read is not None]
    files = {r.files for r in runs}
    if len(files) != 1:
        raise AssertionError(f"runs of one query planned different numbers of files: {files}")
    middle = round(median(reads)) if reads else None
    return Run(median(r.seconds for r in runs), middle, runs[0].rows, runs[0].files)

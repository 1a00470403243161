# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The claims of the demonstration; it fails if one of them does not hold."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import duckdb

from benchmarks.demo.layouts import Layout
from benchmarks.demo.queries import COLUMNS, ONE_CUSTOMER, ONE_DEMOGRAPHICS
from benchmarks.shared import same_rows
from benchmarks.shared.minmax import MinMax
from benchmarks.shared.ranges import point

LIMIT = 0.14
VALUES = 1_000


def rows_are_the_same(unordered: Layout, other: Layout) -> str:
    """Compare all rows of two layouts as multisets."""
    rows = same_rows.check(unordered.files(), other.files())
    return f"{other.name} holds the {rows:,} rows of {unordered.name}, no more and no fewer"


def point_queries_touch_few_files(optimized: Layout) -> list[str]:
    """Check the two point queries, and the mean over many values of the columns."""
    files = optimized.files()
    minmax = MinMax(files, COLUMNS)
    said = []
    for query in (ONE_CUSTOMER, ONE_DEMOGRAPHICS):
        one = minmax.reads([query]).files
        shares = [
            minmax.reads([point(query.column, value)]).files.fraction()
            for value in _values(optimized.path, query.column)
        ]
        said.append(
            f"{query.sql()}: {one} files ({one.fraction():.3f}); mean of {len(shares):,} values "
            f"{mean(shares):.3f}, largest {max(shares):.3f}; ideal {len(files) ** -0.5:.3f}"
        )
        if max(one.fraction(), mean(shares)) > LIMIT:
            raise AssertionError(f"more than {LIMIT} of the files: {said[-1]}")
    return said


def _values(table: Path, column: str) -> list[int]:
    with duckdb.connect() as db:
        lines = db.execute(
            f"select distinct {column} from read_parquet('{table}/*.parquet') "
            f"where {column} is not null order by hash({column}), {column} limit {VALUES}"
        ).fetchall()
    return [line[0] for line in lines]

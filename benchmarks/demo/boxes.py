# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The box that each file spans in the space of some columns, as DuckDB reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from spark_zorder.report import Box


def boxes(table: Path, columns: Sequence[str]) -> list[Box]:
    """Return the box of every data file of a table, sorted by the corners of the boxes."""
    ends = ", ".join(
        f"{end}(stats_{end}_value::bigint) filter (path_in_schema = '{column}')"
        for column in columns
        for end in ("min", "max")
    )
    wanted = ", ".join(f"'{column}'" for column in columns)
    # a file's row groups are rows of their own, one for each column
    query = (
        f"select sum(row_group_num_rows) // {len(columns)}, {ends} "
        f"from parquet_metadata('{table}/*.parquet') "
        f"where path_in_schema in ({wanted}) group by file_name"
    )
    with duckdb.connect() as db:
        found = [_box(line) for line in db.execute(query).fetchall()]
    return sorted(found, key=lambda box: [b or (0, 0) for b in box.bounds])


def _box(line: Sequence[int | None]) -> Box:
    rows, *ends = line
    pairs = zip(ends[::2], ends[1::2], strict=True)
    bounds = ((low, high) if low is not None and high is not None else None for low, high in pairs)
    return Box(int(rows or 0), tuple(bounds))

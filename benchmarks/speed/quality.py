# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Which share of files, row groups and pages a point query on each column must read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Any

import duckdb

from benchmarks.shared.minmax import MinMax
from benchmarks.shared.minmax import Share as Read
from benchmarks.shared.ranges import point
from benchmarks.speed.results import SCAN, Share

VALUES = 200
# planning a scan takes a tenth of a second and more
VALUES_OF_SCANS = 40


def sampled_values(files: Sequence[Path], columns: Sequence[str]) -> dict[str, list[Any]]:
    """Return the same values of each column every time: those with the smallest hashes."""
    with duckdb.connect() as db:
        return {column: _values(db, files, column) for column in columns}


def _values(db: duckdb.DuckDBPyConnection, files: Sequence[Path], column: str) -> list[Any]:
    source = f"read_parquet([{', '.join(repr(str(file)) for file in files)}])"
    (many,) = db.execute(f"select approx_count_distinct({column}) from {source}").fetchall()[0]
    # only a part of many values is looked at: they need not all fit into memory
    part = max(1, many // (4 * VALUES))
    lines = db.execute(
        f"select distinct {column} from {source} where {column} is not null "
        f"and hash({column}) % {part} = 0 order by hash({column}), {column} limit {VALUES}"
    ).fetchall()
    return [_internal(line[0]) for line in lines]


def _internal(value: Any) -> Any:
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def shares(files: Sequence[Path], values: Mapping[str, Sequence[Any]]) -> list[Share]:
    """Judge a point query for each value, and return the means by column and level."""
    minmax = MinMax(files, values)
    found = []
    for column, wanted in values.items():
        reads = [minmax.reads([point(column, value)]) for value in wanted]
        found += [
            _mean(column, "files", [r.files for r in reads]),
            _mean(column, "row groups", [r.row_groups for r in reads]),
            _mean(column, "pages", [r.pages for r in reads]),
        ]
    return found


def shares_of_scans(
    planned: Callable[[str, Any], int], files: int, values: Mapping[str, Sequence[Any]]
) -> list[Share]:
    """Return the mean share of files that a format's own scan reads, by column."""
    return [
        Share(
            column, SCAN, files, mean(planned(column, v) for v in wanted[:VALUES_OF_SCANS]) / files
        )
        for column, wanted in values.items()
    ]


def _mean(column: str, level: str, reads: Sequence[Read]) -> Share:
    return Share(column, level, reads[0].total, mean(r.fraction() for r in reads))

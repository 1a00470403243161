# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A check that two layouts contain exactly the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

# more rows than these are too many to hold in memory at once
COMPARED_WHOLE = 10_000_000


def check(one: Sequence[Path], other: Sequence[Path], compared_whole: int = COMPARED_WHOLE) -> int:
    """Compare the rows of two tables' files as multisets, with an engine that wrote neither.

    Names of folders such as ``store=1`` give the values of partition columns.

    Large tables are compared by the sums of 64-bit hashes of their rows, in which a lost row and
    another one in its place do not show in one of 2^64 cases.

    Returns the number of rows; raises when the tables differ.
    """
    with duckdb.connect() as db:
        left, right = _rows(db, one, one), _rows(db, other, one)
        counts = [db.sql(f"select count(*) from {t}").fetchall()[0][0] for t in (left, right)]
        if counts[0] != counts[1]:
            same, why = False, "another number of rows"
        elif counts[0] > compared_whole:
            same, why = _hashed(db, left) == _hashed(db, right), "another sum of the rows' hashes"
        else:
            missing = _missing(db, left, right)
            same, why = missing == 0, f"{missing:,} rows of the first are not in the second"
    if not same:
        raise AssertionError(
            f"{one[0].parent} has {counts[0]:,} rows and {other[0].parent} has {counts[1]:,}: {why}"
        )
    return int(counts[0])


def _rows(db: duckdb.DuckDBPyConnection, files: Sequence[Path], order: Sequence[Path]) -> str:
    """Return a query for the rows of files, with the columns in the order of other files."""
    columns = [line[0] for line in db.sql(f"describe from {_read(order)}").fetchall()]
    listed = ", ".join(f'"{column}"' for column in columns)
    return f"(select {listed} from {_read(files)})"


def _read(files: Sequence[Path]) -> str:
    listed = ", ".join(f"'{file}'" for file in files)
    return f"read_parquet([{listed}], hive_partitioning = true)"


def _missing(db: duckdb.DuckDBPyConnection, left: str, right: str) -> int:
    # equal counts and nothing left over on one side: then nothing is left on the other
    only = f"select count(*) from (from {left} except all from {right})"
    return int(db.sql(only).fetchall()[0][0])


def _hashed(db: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(db.sql(f"select sum(hash(*columns(*))::hugeint) from {table}").fetchall()[0][0])

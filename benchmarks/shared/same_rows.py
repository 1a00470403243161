"""A check that two layouts contain exactly the same rows."""

from __future__ import annotations

from pathlib import Path

import duckdb

# more rows than these are too many to hold in memory at once
COMPARED_WHOLE = 10_000_000


def check(one: Path, other: Path, compared_whole: int = COMPARED_WHOLE) -> int:
    """Compare two tables as multisets of rows, with an engine that wrote neither.

    Large tables are compared by the sums of 64-bit hashes of their rows, in which a lost row and
    another one in its place do not show in one of 2^64 cases.

    Returns the number of rows; raises when the tables differ.
    """
    left, right = (f"read_parquet('{p}/*.parquet')" for p in (one, other))
    with duckdb.connect() as db:
        counts = [db.sql(f"select count(*) from {t}").fetchall()[0][0] for t in (left, right)]
        if counts[0] != counts[1]:
            same, why = False, "another number of rows"
        elif counts[0] > compared_whole:
            same, why = _hashed(db, left) == _hashed(db, right), "another sum of the rows' hashes"
        else:
            missing = _missing(db, left, right)
            same, why = missing == 0, f"{missing:,} rows of the first are not in the second"
    if not same:
        raise AssertionError(f"{one} has {counts[0]:,} rows and {other} has {counts[1]:,}: {why}")
    return int(counts[0])


def _missing(db: duckdb.DuckDBPyConnection, left: str, right: str) -> int:
    # equal counts and nothing left over on one side: then nothing is left on the other
    only = f"select count(*) from (from {left} except all from {right})"
    return int(db.sql(only).fetchall()[0][0])


def _hashed(db: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(db.sql(f"select sum(hash(*columns(*))::hugeint) from {table}").fetchall()[0][0])

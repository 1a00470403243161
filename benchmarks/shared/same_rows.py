"""Proof that a layout holds the rows of another, no more and no fewer."""

from __future__ import annotations

from pathlib import Path

import duckdb


def check(one: Path, other: Path) -> int:
    """Compare two tables as multisets of whole rows, by another engine than wrote them.

    Returns the number of rows; raises when the tables differ.
    """
    left, right = (f"read_parquet('{p}/*.parquet')" for p in (one, other))
    with duckdb.connect() as db:
        counts = [db.sql(f"select count(*) from {t}").fetchall()[0][0] for t in (left, right)]
        # equal counts and nothing left over on one side: then nothing is left on the other
        only = f"select count(*) from (from {left} except all from {right})"
        missing = db.sql(only).fetchall()[0][0]
    if counts[0] != counts[1] or missing:
        raise AssertionError(
            f"{one} has {counts[0]:,} rows and {other} has {counts[1]:,}; "
            f"{missing:,} rows of the first are not in the second"
        )
    return int(counts[0])

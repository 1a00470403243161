"""TPC-DS ``store_sales`` at scale factor 1, generated once and kept."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.shared import tpcgen

ROWS = 2_880_404


def store_sales(folder: Path) -> Path:
    """Return the generated table, one Parquet file; make it when it is not there."""
    table = tpcgen.generate("tpcds", "store_sales", 1, folder / "generated")
    rows = duckdb.read_parquet(str(table)).count("*").fetchall()[0][0]
    if rows != ROWS:
        raise ValueError(f"{table} has {rows:,} rows, but store_sales has {ROWS:,} at scale 1")
    return table

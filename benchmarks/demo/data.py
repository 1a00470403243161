# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""TPC-DS ``store_sales`` at scale factor 1, which is generated once."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.shared import tpcgen

ROWS = 2_880_404


def store_sales(folder: Path) -> Path:
    """Return the table as one Parquet file; generate the file if it is missing."""
    table = tpcgen.generate("tpcds", "store_sales", 1, folder / "generated")
    rows = duckdb.read_parquet(str(table)).count("*").fetchall()[0][0]
    if rows != ROWS:
        raise ValueError(f"{table} has {rows:,} rows, but store_sales has {ROWS:,} at scale 1")
    return table

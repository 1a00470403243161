"""TPC-DS ``store_sales`` at scale factor 1, generated once and kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb

ROWS = 2_880_404


def store_sales(folder: Path) -> Path:
    """Return the generated table, one Parquet file; make it when it is not there."""
    table = folder / "generated" / "store_sales.parquet"
    if not table.exists():
        unfinished = folder / "generating"
        shutil.rmtree(unfinished, ignore_errors=True)
        _generate(unfinished)
        # renamed when complete, so that an interrupted run leaves nothing that looks done
        unfinished.rename(table.parent)
    rows = duckdb.read_parquet(str(table)).count("*").fetchall()[0][0]
    if rows != ROWS:
        raise ValueError(f"{table} has {rows:,} rows, but store_sales has {ROWS:,} at scale 1")
    return table


def _generate(folder: Path) -> None:
    tool = shutil.which("tpcgen-cli", path=str(Path(sys.executable).parent)) or "tpcgen-cli"
    what = ["--scale-factor=1", "--tables=store_sales", "--quiet", f"--output-dir={folder}"]
    subprocess.run([tool, "tpcds", "parquet", *what], check=True)

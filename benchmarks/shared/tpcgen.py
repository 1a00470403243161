# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of TPC-DS and TPC-H, which are generated once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.shared.folders import make_once


def generate(benchmark: str, table: str, scale: float, folder: Path) -> Path:
    """Return a Parquet file with the table; generate the table if the folder is missing.

    ``benchmark`` is ``tpcds`` or ``tpch``.
    """
    made = make_once(folder, partial(_run, benchmark, table, scale))
    return made / f"{table}.parquet"


def _run(benchmark: str, table: str, scale: float, folder: Path) -> None:
    tool = shutil.which("tpcgen-cli", path=str(Path(sys.executable).parent)) or "tpcgen-cli"
    what = [f"--scale-factor={scale:g}", f"--tables={table}", "--quiet", f"--output-dir={folder}"]
    subprocess.run([tool, benchmark, "parquet", *what], check=True)

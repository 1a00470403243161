"""Tables of TPC-DS and TPC-H, generated once and kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def generate(benchmark: str, table: str, scale: float, folder: Path) -> Path:
    """Return one Parquet file with the table; make the folder when it is not there.

    ``benchmark`` is ``tpcds`` or ``tpch``.
    """
    file = folder / f"{table}.parquet"
    if not file.exists():
        unfinished = folder.with_name(f"{folder.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _run(benchmark, table, scale, unfinished)
        # renamed when complete, so that an interrupted run leaves nothing that looks done
        unfinished.rename(folder)
    return file


def _run(benchmark: str, table: str, scale: float, folder: Path) -> None:
    tool = shutil.which("tpcgen-cli", path=str(Path(sys.executable).parent)) or "tpcgen-cli"
    what = [f"--scale-factor={scale:g}", f"--tables={table}", "--quiet", f"--output-dir={folder}"]
    subprocess.run([tool, benchmark, "parquet", *what], check=True)

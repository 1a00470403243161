# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A table of many small files, each with different rows."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.shared.folders import make_once

ROWS_OF_FILE = 10
COLUMNS = "id BIGINT, amount DOUBLE, day DATE, name STRING"


def make(folder: Path, files: int) -> Path:
    """Return the table; ids increase from file to file, other columns repeat their values."""

    def fill(unfinished: Path) -> None:
        unfinished.mkdir()
        for i in range(files):
            _write(unfinished / f"part-{i:06}.parquet", i)

    return make_once(folder / f"planning-{files}", fill)


def _write(file: Path, number: int) -> None:
    ids = range(number * ROWS_OF_FILE, (number + 1) * ROWS_OF_FILE)
    first_day = date(2020, 1, 1)
    rows = {
        "id": pa.array(ids, pa.int64()),
        "amount": pa.array([i % 9973 / 4 for i in ids], pa.float64()),
        "day": pa.array([first_day + timedelta(i // 100 % 1500) for i in ids], pa.date32()),
        "name": pa.array([f"customer-{i % 50000:06}" for i in ids], pa.string()),
    }
    pq.write_table(pa.table(rows), file, use_dictionary=False)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A table of many small files with a unique text in each row, in no order."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.shared.folders import make_once


def key(row: int) -> str:
    """Return the text of a row, in the form of a UUID."""
    digits = md5(str(row).encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def make(folder: Path, files: int, rows: int) -> Path:
    """Return the table: `u` is unique, `device` is in few files."""

    def fill(unfinished: Path) -> None:
        unfinished.mkdir()
        for i in range(files):
            _write(unfinished / f"part-{i:06}.parquet", i, files, rows)

    return make_once(folder / f"needles-{files}-{rows}", fill)


def _write(file: Path, number: int, files: int, rows: int) -> None:
    ids = range(number * rows, (number + 1) * rows)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "u": pa.array([key(i) for i in ids], pa.string()),
        "device": pa.array([(i * 7919 + number % 5) % (40 * files) for i in ids], pa.int64()),
        "amount": pa.array([i % 9973 / 4 for i in ids], pa.float64()),
    }
    pq.write_table(pa.table(columns), file, use_dictionary=False)

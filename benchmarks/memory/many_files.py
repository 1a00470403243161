# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A table of very many small files, made of one file and its other names."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.shared.folders import make_once

ROWS_OF_FILE = 1000
# the sides of the grid on which the two columns lie
SIDE = 4096


def make(folder: Path, files: int) -> Path:
    """Return the table; a hundred different files share all the names."""

    def fill(unfinished: Path) -> None:
        unfinished.mkdir()
        originals = [_write(unfinished / f"part-{i:06}.parquet", i) for i in range(100)]
        for i in range(100, files):
            os.link(originals[i % 100], unfinished / f"part-{i:06}.parquet")

    return make_once(folder / f"files-{files}", fill)


def _write(file: Path, number: int) -> Path:
    base = number * ROWS_OF_FILE
    # a multiplier that is odd visits every value before one comes again
    values = [(base + i) * 2_654_435_761 % SIDE**2 for i in range(ROWS_OF_FILE)]
    columns = {"a": [v // SIDE for v in values], "b": [v % SIDE for v in values]}
    pq.write_table(pa.table({name: pa.array(c, pa.int64()) for name, c in columns.items()}), file)
    return file

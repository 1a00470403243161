# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What the benchmarks of threads and of appends read from lines and footers."""

import os
from pathlib import Path

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest

from benchmarks.insert.appends import excess_of, names, rows_of
from benchmarks.speed.threads import measured


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("C2 CompilerThre", "C2 CompilerThre"),
        ("Executor task l", "Executor task l"),
        ("GC Thread#1", "GC Thread"),
        ("Thread-12", "Thread"),
        ("a (b) 3", "a (b)"),
    ],
)
def test_threads_of_one_kind_have_one_name(name: str, kind: str) -> None:
    line = f"7 ({name}) S" + 10 * " 0" + " 150 50" + 30 * " 0"
    assert measured(line) == (kind, 200 / os.sysconf("SC_CLK_TCK"))


def test_the_excess_of_a_grid_of_full_files(tmp_path: Path) -> None:
    side = np.arange(20)
    rows = np.array([(a * 20 + b, b * 20 + a) for a in side for b in side])
    for i in range(2):
        for j in range(2):
            part = rows[(rows[:, 0] // 200 == i) & (rows[:, 1] // 200 == j)]
            columns = dict(zip(names(2), part.T, strict=True))
            pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{i}{j}.parquet")
    # 400 rows are 4 full files, of which a point query reads 2; bounds of a file hold 190 values
    assert excess_of(tmp_path, rows) == pytest.approx(4 * 190 / 400 / 2)


def test_rows_in_the_order_of_time_are_nearly_sorted_by_it() -> None:
    def out_of_order(kind: str) -> float:
        time = rows_of(kind, 2, np.random.default_rng(7))[:, 0]
        return float(np.abs(np.argsort(np.argsort(time)) - np.arange(len(time))).mean() / len(time))

    assert 2 * out_of_order("time") < out_of_order("late") < 0.1 < out_of_order("equal")

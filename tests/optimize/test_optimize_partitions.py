# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Partition folders stay as they are named, and WHERE chooses among them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files, rows_of
from tests.support.optimizing import arrow_rows, optimize, pa, refusal, settings, statement, write

pytestmark = pytest.mark.classic_only


def folders(directory: Path) -> set[str]:
    return {str(f.parent.relative_to(directory)) for f in data_files(directory)}


def make(directory: Path, *names: str, **columns: Any) -> Path:
    """Two small files in each folder, with other rows in each."""
    for n, name in enumerate(names):
        for part in range(2):
            ids = pa.array([n * 1000 + i for i in range(part, 40, 2)])
            write(directory / name / f"{part}.parquet", {"id": ids, **columns})
    return directory


def check(spark: SparkSession, table: Path, where: str = "", **options: str) -> Any:
    """Rows stay in their folders, by every reader, and the chosen folders have new files."""
    rows, names, old = arrow_rows(table), folders(table), set(data_files(table))
    seen = rows_of(spark.read.parquet(str(table)))
    # whatever was laid out before
    result = optimize(spark, table, ["id"], where, full=True, **options)
    assert arrow_rows(table) == rows
    assert folders(table) == names
    assert rows_of(spark.read.parquet(str(table))) == seen
    left = {str(f.parent.relative_to(table)) for f in old & set(data_files(table))}
    assert result.metrics.partitionsOptimized == len(names - left)
    return names - left


def test_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    names = ["at=2026-01-01 10%3A00%3A00", "at=2026-01-01 10%3A00%3A00.5", "at=2026-02-01"]
    table = make(tmp_path / "t", *names)
    check(spark, table)
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        where = "at = TIMESTAMP '2026-01-01 10:00:00'"
        assert check(spark, table, where) == {names[0]}
    assert check(spark, table, "month(at) = 1") == set(names[:2])


def test_a_partition_column_that_the_files_hold_too(spark: SparkSession, tmp_path: Path) -> None:
    """DuckDB and others can write it into the files as well; it must not vanish from them."""
    table = make(tmp_path / "t", "p=1", "p=2", p=pa.array([1] * 20), v=pa.array(["x"] * 20))
    check(spark, table, verify="full")
    refusal(spark, statement(table, ["p"]), table, "ZORDER_COLUMN_IS_PARTITION_COLUMN", "`p`")

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""SHOW LAYOUT HISTORY, UNDO, RECOVER and VACUUM LAYOUT."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from spark_zorder import ZOrderTable
from tests.support import condition_of, data_files, snapshot
from tests.support.optimizing import arrow_rows, optimize, pa, quoted, refusal, run, write_parts

HISTORY = """
    number bigint, run string, time timestamp, user string, operation string, columns array<string>,
    filesRemoved bigint, filesAdded bigint, bytesRemoved bigint, bytesAdded bigint, numRows bigint,
    status string, undoPossible boolean, retainedBytes bigint, retainedUntil timestamp
"""
RECOVER = "path string, runsRecovered bigint, filesAdded bigint, filesRemoved bigint"
UNDO = """
    path string, runUndone string, filesAdded bigint, filesRemoved bigint, bytesAdded bigint,
    bytesRemoved bigint, numRows bigint, retainedUntil timestamp
"""
VACUUM = """
    path string, kind string, files bigint, bytes bigint, since timestamp, removed boolean
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ids = range(90)
    rows = pa.table({"id": pa.array(ids), "x": pa.array([i % 13 for i in ids])})
    return write_parts(tmp_path / "t", rows)


@pytest.fixture
def table(spark: SparkSession, path: Path) -> ZOrderTable:
    return ZOrderTable.forPath(spark, str(path))


def live(path: Path) -> dict[str, tuple[str, int]]:
    """Return the hash and the modification time of each data file."""
    hashes = snapshot(path)
    names = [str(file.relative_to(path)) for file in data_files(path)]
    return {name: (hashes[name], (path / name).stat().st_mtime_ns) for name in names}


def newest(table: ZOrderTable) -> Any:
    return table.history().collect()[0]


def columns_of(frame: Any) -> list[str]:
    return [f"{name} {kind}" for name, kind in frame.dtypes]


def listed(text: str) -> list[str]:
    return [" ".join(column.split()) for column in text.split(",")]


def test_the_columns_are_as_documented(spark: SparkSession, path: Path, table: ZOrderTable) -> None:
    optimize(spark, path, ["id", "x"])
    assert columns_of(table.history()) == listed(HISTORY)
    assert columns_of(table.recover()) == listed(RECOVER)
    assert columns_of(table.vacuum(dryRun=True)) == listed(VACUUM)
    assert columns_of(table.undo()) == listed(UNDO)


def test_undo_brings_back_the_very_files(
    spark: SparkSession, path: Path, table: ZOrderTable
) -> None:
    original, rows = live(path), arrow_rows(path)
    optimize(spark, path, ["id", "x"])
    assert not set(original) & set(live(path))
    (undone,) = table.undo().collect()
    assert live(path) == original
    assert arrow_rows(path) == rows
    assert (undone.filesAdded, undone.numRows) == (3, 90)
    newest, oldest = table.history().collect()
    assert (newest.operation, newest.status) == ("undo", "published")
    assert (oldest.run, oldest.status) == (undone.runUndone, "undone")
    with pytest.raises(PySparkException) as error:
        table.undo().collect()
    assert condition_of(error.value) == "ZORDER_NOTHING_TO_UNDO"


def test_an_undo_is_seen_by_frames_and_keeps_what_came_since(
    spark: SparkSession, path: Path, table: ZOrderTable
) -> None:
    optimize(spark, path, ["id"])
    more = spark.range(500, 507).selectExpr("id", "7L x")
    more.write.mode("append").parquet(str(path))
    assert table.toDF().count() == 97
    table.undo().collect()
    assert table.toDF().count() == 97
    assert table.toDF().where("id >= 500").count() == 7


def test_undo_is_refused_when_rows_were_changed(
    spark: SparkSession, path: Path, table: ZOrderTable
) -> None:
    optimize(spark, path, ["id"])
    (file,) = data_files(path)
    assert newest(table).undoPossible
    before = file.stat()
    os.utime(file, (before.st_atime, before.st_mtime + 2))
    assert not newest(table).undoPossible
    text = f"UNDO LAYOUT parquet.{quoted(str(path))}"
    refusal(spark, text, path, "ZORDER_UNDO_REFUSED", file.name, "changed since")
    file.unlink()
    refusal(spark, text, path, "ZORDER_UNDO_REFUSED", file.name, "removed since")


def test_vacuum_foretells_and_removes(spark: SparkSession, path: Path, table: ZOrderTable) -> None:
    optimize(spark, path, ["id"])
    assert table.vacuum().collect() == []
    time.sleep(0.05)
    before = snapshot(path)
    foretold = table.vacuum(0, dryRun=True).collect()
    assert snapshot(path) == before
    rows = arrow_rows(path)
    removed = table.vacuum(0).collect()
    assert removed == foretold
    assert [(row.kind, row.files, row.removed) for row in removed] == [("retained", 3, True)]
    assert arrow_rows(path) == rows
    assert not list(path.rglob("_zorder_*"))
    text = f"UNDO LAYOUT parquet.{quoted(str(path))}"
    refusal(spark, text, path, "ZORDER_UNDO_REFUSED", "not retained")
    # VACUUM keeps the history
    assert [row.operation for row in table.history().collect()] == ["optimize"]


def test_recover_finishes_what_was_committed(
    spark: SparkSession, path: Path, table: ZOrderTable
) -> None:
    assert tuple(table.recover().collect()[0])[1:] == (0, 0, 0)
    optimize(spark, path, ["id"])
    rows, files = arrow_rows(path), live(path)
    # the state after a crash before the last renames
    (path / "_zorder/_commits/_1_done").unlink()
    # a session never sees a published run become unpublished: the record is another one to it
    os.utime(path / "_zorder/_commits/_1", (1_000_000_000, 1_000_000_000))
    (row,) = table.history().collect()
    assert (row.status, row.undoPossible) == ("committed, not published", False)
    (result,) = table.recover().collect()
    assert (result.runsRecovered, result.filesAdded, result.filesRemoved) == (1, 1, 3)
    assert (arrow_rows(path), live(path)) == (rows, files)
    assert newest(table).status == "published"


def test_a_table_by_name(spark: SparkSession, database: str, path: Path) -> None:
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{path}'")
    original = live(path)
    run(spark, "OPTIMIZE TABLE t ZORDER BY (id)")
    named = ZOrderTable.forName(spark, f"{database}.t")
    assert named.history(1).count() == 1
    named.undo().collect()
    assert live(path) == original
    assert spark.table("t").count() == 90


def test_retain_takes_a_number(spark: SparkSession, path: Path) -> None:
    for hours in ("x", "1.5", "-1", "24"):
        unit = "HOURS" if hours != "24" else ""
        with pytest.raises(ParseException):
            spark.sql(f"VACUUM LAYOUT '{path}' RETAIN {hours} {unit}")

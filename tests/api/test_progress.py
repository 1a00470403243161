# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The progress bar of real statements, and that no statement fails because of the bar."""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import Row, SparkSession

from spark_zorder import ZOrderTable, _progress, _watch
from spark_zorder._progress import Bar
from tests.support import rows_of
from tests.support.output import Output

tqdm: Any = pytest.importorskip("tqdm").tqdm


@pytest.fixture
def output() -> Output:
    return Output()


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table whose OPTIMIZE takes long enough to be watched; Spark reports progress often."""
    monkeypatch.setattr(_watch, "EVERY_SECONDS", 0.01)
    key = "spark.connect.progress.reportInterval"
    spark.conf.set(key, "50ms")
    path = tmp_path / "points"
    rows = spark.range(0, 40_000, 1, 8).selectExpr("id", "id % 37 AS x", "id % 41 AS y")
    rows.write.parquet(str(path))
    yield path
    spark.conf.unset(key)


def optimized(spark: SparkSession, path: Path, output: Output) -> Row:
    table = ZOrderTable.forPath(spark, str(path))
    before = rows_of(table.toDF())
    size = sum(file.stat().st_size for file in path.glob("*.parquet")) // 16
    builder = table.optimize().full().option("targetFileSize", size)
    with redirect_stderr(output):
        (row,) = builder.executeZOrderBy("x", "y", progress=True).collect()
    assert rows_of(table.toDF()) == before
    assert row.metrics.numRows == 40_000
    return row


def test_a_run_shows_phases_and_files(
    spark: SparkSession, is_connect: bool, table: Path, output: Output
) -> None:
    row = optimized(spark, table, output)
    drawn = "\n".join(output.lines)
    assert re.search(rf"OPTIMIZE .*/{table.name}`", drawn)
    if is_connect:
        # a Connect server reports the number of tasks, but not the phase
        counts = [(int(d), int(t)) for d, t in re.findall(r" (\d+)/(\d+) \[", drawn)]
        assert counts
        assert all(done <= tasks for done, tasks in counts)
        assert max(done for done, _ in counts) >= row.metrics.numFilesAdded
        return
    assert ": write: " in drawn
    files = re.findall(r"write: .* (\d+)/(\d+) \[.*file", drawn)
    assert {int(total) for _, total in files} == {row.metrics.numFilesAdded}


def indexed(spark: SparkSession, path: Path, output: Output) -> None:
    table = ZOrderTable.forPath(spark, str(path))
    with redirect_stderr(output):
        (row,) = table.createIndex("x", progress=True).collect()
    assert row.files == 8
    spark.sql(f"DROP ZORDER INDEX ON parquet.`{path}`")


def test_an_index_shows_its_bar_too(spark: SparkSession, table: Path, output: Output) -> None:
    indexed(spark, table, output)
    assert re.search(rf"INDEX .*/{table.name}`", "".join(output.lines))


def test_a_bar_that_fails_is_logged_and_the_statement_goes_on(
    spark: SparkSession,
    table: Path,
    output: Output,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no more paper")

    with caplog.at_level(logging.WARNING, "spark_zorder"):
        monkeypatch.setattr(Bar, "close", fail)
        indexed(spark, table, output)
        with monkeypatch.context() as also:
            also.setattr(_progress, "watch", fail)
            indexed(spark, table, output)
        monkeypatch.setattr(Bar, "show", fail)
        optimized(spark, table, output)
    assert len(caplog.records) >= 3
    assert all("not affected" in record.message for record in caplog.records)


def test_an_error_of_the_statement_comes_through(
    spark: SparkSession, table: Path, output: Output
) -> None:
    with redirect_stderr(output), pytest.raises(Exception, match="ZORDER_COLUMN_NOT_FOUND"):
        ZOrderTable.forPath(spark, str(table)).optimize().executeZOrderBy("no", progress=True)


@pytest.mark.classic_only
def test_a_job_group_is_the_users_own_or_for_the_run_alone(
    spark: SparkSession, table: Path, output: Output
) -> None:
    context, key = spark.sparkContext, "spark.jobGroup.id"
    optimized(spark, table, output)
    assert context.getLocalProperty(key) is None
    context.setJobGroup("mine", "what I do")
    try:
        optimized(spark, table, output)
        assert context.getLocalProperty(key) == "mine"
        assert len(context.statusTracker().getJobIdsForGroup("mine")) >= 2
        assert ": write: " in "\n".join(output.lines)
    finally:
        context.setLocalProperty(key, cast(Any, None))
        context.setLocalProperty("spark.job.description", cast(Any, None))


def test_a_warning_is_of_the_line_that_called(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", cast(Any, None))
    spark.range(3).write.parquet(str(tmp_path / "t"))
    table = ZOrderTable.forPath(spark, str(tmp_path / "t"))
    for run in (table.createIndex, table.optimize().executeCompaction):
        with pytest.warns(UserWarning, match="tqdm") as told:
            run(progress=True)
        assert told[0].filename == __file__

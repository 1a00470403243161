# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""SHOW LAYOUT HISTORY, UNDO, RECOVER and VACUUM LAYOUT."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from spark_zorder import ZOrderTable
from tests.support import condition_of, snapshot
from tests.support.optimizing import optimize, pa, write_parts

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


def columns_of(frame: Any) -> list[str]:
    return [f"{name} {kind}" for name, kind in frame.dtypes]


def listed(text: str) -> list[str]:
    return [" ".join(column.split()) for column in text.split(",")]


def test_all_statements_of_a_table(spark: SparkSession, path: Path, table: ZOrderTable) -> None:
    original = snapshot(path)
    optimize(spark, path, ["id", "x"])
    assert columns_of(table.history()) == listed(HISTORY)
    recovered = table.recover()
    assert columns_of(recovered) == listed(RECOVER)
    assert tuple(recovered.collect()[0])[1:] == (0, 0, 0)
    foretold = table.vacuum(0, dryRun=True)
    assert columns_of(foretold) == listed(VACUUM)
    assert [(row.kind, row.files) for row in foretold.collect()] == [("retained", 3)]
    assert table.vacuum(24).collect() == []
    frame = table.undo()
    assert columns_of(frame) == listed(UNDO)
    (undone,) = frame.collect()
    assert (undone.filesAdded, undone.numRows) == (3, 90)
    after = snapshot(path)
    assert {name: after[name] for name in original} == original
    assert table.toDF().count() == 90
    (newest,) = table.history(1).collect()
    assert (newest.operation, newest.status) == ("undo", "published")
    with pytest.raises(PySparkException) as error:
        table.undo().collect()
    assert condition_of(error.value) == "ZORDER_NOTHING_TO_UNDO"


def test_retain_takes_a_number(spark: SparkSession, path: Path) -> None:
    for hours in ("x", "1.5", "-1", "24"):
        unit = "HOURS" if hours != "24" else ""
        with pytest.raises(ParseException):
            spark.sql(f"VACUUM LAYOUT '{path}' RETAIN {hours} {unit}")

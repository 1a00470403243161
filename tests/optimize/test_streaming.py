# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A stream that reads a table's directory: what it sees of OPTIMIZE, as docs/safety.md says."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support import rows_of
from tests.support.optimizing import optimize, pa, statement, write, write_parts

pytestmark = pytest.mark.not_connect


SCHEMA = "id BIGINT, x BIGINT"


def rows(start: int, end: int) -> Any:
    ids = range(start, end)
    return pa.table({"id": pa.array(ids), "x": pa.array([i % 7 for i in ids])})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "t", rows(0, 60))


def drain(spark: SparkSession, table: Path, work: Path) -> Counter[int]:
    """Lets the stream take up all that is new to it; how often each id has come out so far."""
    query = (
        spark.readStream.schema(SCHEMA)
        .parquet(str(table))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(work / "checkpoint"))
        .option("path", str(work / "out"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    seen = rows_of(spark.read.schema(SCHEMA).parquet(str(work / "out")))
    return Counter({row.id: count for row, count in seen.items()})


def times(start: int, end: int, count: int) -> Counter[int]:
    return Counter(dict.fromkeys(range(start, end), count))


def test_rewritten_files_are_new_files(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    optimize(spark, table, ["id", "x"])
    # every row again, though no row is new; nothing of what lies in _zorder
    assert drain(spark, table, tmp_path) == times(0, 60, 2)
    assert drain(spark, table, tmp_path) == times(0, 60, 2)
    write(table / "later.parquet", rows(60, 70))
    assert drain(spark, table, tmp_path) == times(0, 60, 2) + times(60, 70, 1)


def test_files_beside_the_others_are_not_seen(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    optimize(spark, table, ["id", "x"], publish="shadow")
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    write(table / "later.parquet", rows(60, 70))
    optimize(spark, table, ["id", "x"], publish="shadow")
    assert drain(spark, table, tmp_path) == times(0, 70, 1)
    # a new stream reads the visible files, too
    assert drain(spark, table, tmp_path / "new") == times(0, 70, 1)


def test_what_an_incremental_run_leaves_alone_is_not_read_again(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    optimize(spark, table, ["id", "x"])
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    optimize(spark, table, ["id", "x"])
    assert drain(spark, table, tmp_path) == times(0, 60, 1)


def test_a_copy_elsewhere_leaves_the_stream_alone(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    assert drain(spark, table, tmp_path) == times(0, 60, 1)
    spark.sql(statement(table, ["id", "x"]) + f" INTO '{tmp_path}/copy'").collect()
    assert drain(spark, table, tmp_path) == times(0, 60, 1)


@pytest.mark.classic_only
def test_a_stream_that_has_planned_replaced_files(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    """It passes over those that are gone; their rows come with the new files, and others twice."""
    seen: Counter[int] = Counter()
    first: set[int] = set()

    def take(batch: DataFrame, number: int) -> None:
        ids = [row.id for row in batch.collect()]
        seen.update(ids)
        if number == 0:
            first.update(ids)
            optimize(spark, table, ["id", "x"])

    def start() -> Any:
        return (
            spark.readStream.schema(SCHEMA)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(table))
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    assert start().awaitTermination(120)
    assert len(first) == 20
    assert seen == Counter(first)
    assert start().awaitTermination(120)
    assert seen == Counter(first) + times(0, 60, 1)

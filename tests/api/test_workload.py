# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The layout from the queries that were run, from the first query to a table that has settled."""

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_zorder import ZOrderTable
from tests.support import rows_of

# AUTO leaves tables with fewer recorded scans alone
ENOUGH = 100


@pytest.fixture
def recorded(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.zorder.workload.enabled", "true")
    yield
    spark.conf.unset("spark.zorder.workload.enabled")


def append(spark: SparkSession, table: Path, first: int) -> None:
    spark.range(first, first + 4000, 1, 4).selectExpr(
        "id", "pmod(hash(id), 1000) a", "pmod(hash(id, 7), 1000) b", "repeat('x', 90) filler"
    ).write.mode("append").parquet(str(table))


@pytest.mark.slow  # AutoSuite and FormatAutoTests have the steps
@pytest.mark.usefixtures("recorded")
def test_auto_follows_the_queries_and_settles(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    append(spark, table, 0)
    size = sum(f.stat().st_size for f in table.glob("*.parquet")) // 16
    # ranks are taken from the index
    spark.sql(f"CREATE ZORDER INDEX ON '{table}'")
    layout = ZOrderTable.forPath(spark, str(table))

    def auto() -> list[Row]:
        optimize = layout.optimize().option("targetFileSize", size)
        return optimize.executeZOrderByAuto().collect()

    frame = spark.read.parquet(str(table))
    for start in range(0, ENOUGH + 20, 20):
        # scans of one query are recorded one by one
        scans = [frame.where(f"b = {7 * i}") for i in range(start, start + 20)]
        reduce(DataFrame.unionAll, scans).collect()

    (shown, *_) = layout.workload().collect()
    assert [c.name for c in shown.columns] == ["b"]
    assert shown.usable
    assert shown.scans >= ENOUGH

    before = rows_of(spark.read.parquet(str(table)))
    (first,) = auto()
    assert [c.name for c in first.columns] == ["b"], first.reason
    assert rows_of(spark.read.parquet(str(table))) == before

    (second,) = auto()
    assert second.metrics.numFilesAdded == 0, second.reason

    # a table to which rows are added settles again, by the same columns
    append(spark, table, 4000)
    (third,) = auto()
    assert [c.name for c in third.columns] == ["b"], third.reason
    assert third.metrics.numFilesAdded > 0
    (fourth,) = auto()
    assert fourth.metrics.numFilesAdded == 0, fourth.reason

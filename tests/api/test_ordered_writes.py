# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Writes of data frames into a declared order, on classic sessions and over Spark Connect."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_zorder import ZOrderTable


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 400, 1, 2).selectExpr(
        "hash(id) % 50 AS a", "hash(id, 1) % 50 AS b", "id AS v"
    )


def assert_lexical(folder: Path, files: int) -> None:
    found = sorted(folder.rglob("*.parquet"))
    assert len(found) == files
    for file in found:
        table = pq.read_table(file, columns=["a", "b"])
        keys = list(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
        assert keys == sorted(keys), file


WAYS: dict[str, Callable[[DataFrame], object]] = {
    "insertInto": lambda rows: rows.write.insertInto("declared"),
    "saveAsTable": lambda rows: rows.write.mode("append").format("parquet").saveAsTable("declared"),
    "SQL": lambda rows: (
        rows.createOrReplaceTempView("rows")
        or rows.sparkSession.sql("INSERT INTO declared SELECT * FROM rows").collect()
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_into_a_declared_table(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, way: str
) -> None:
    spark.sql("DROP TABLE IF EXISTS declared")
    folder = tmp_path / "declared"
    spark.sql(f"CREATE TABLE declared (a INT, b INT, v BIGINT) USING parquet LOCATION '{folder}'")
    try:
        ZOrderTable.forName(spark, "declared").sortBy("a", "b", order="lexical")
        WAYS[way](rows)
        assert_lexical(folder, 2)
        assert spark.table("declared").count() == 400
    finally:
        spark.sql("DROP TABLE declared")


def test_into_a_path(rows: DataFrame, tmp_path: Path) -> None:
    writer = rows.write.option("zorder.columns", "a, b").option("zorder.order", "lexical")
    writer.parquet(str(tmp_path / "t"))
    assert_lexical(tmp_path / "t", 2)

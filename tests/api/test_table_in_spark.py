# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""ZOrderTable on a real table: its statements run, and their results come back."""

from pathlib import Path

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from spark_zorder import ZOrderTable
from spark_zorder import functions as F
from tests.support import data_files, rows_of, snapshot


@pytest.fixture
def directory(spark: SparkSession, tmp_path: Path) -> Path:
    """A table of 2,000 rows in four files, distributed at random."""
    rows = spark.range(2000).select("id", F.expr("id % 37 AS x"), F.expr("id % 41 AS y"))
    rows.repartition(4).write.parquet(str(tmp_path / "points"))
    return tmp_path / "points"


@pytest.fixture
def table(spark: SparkSession, directory: Path) -> ZOrderTable:
    return ZOrderTable.forPath(spark, str(directory))


def test_optimize_by_path_keeps_the_rows(table: ZOrderTable, directory: Path) -> None:
    before, files = rows_of(table.toDF()), data_files(directory)
    (result,) = table.optimize().executeZOrderBy("x", "y").collect()
    assert result.metrics.numRows == 2000
    assert [column.name for column in result.columns] == ["x", "y"]
    assert rows_of(table.toDF()) == before
    assert not set(data_files(directory)) & set(files)


def test_optimize_by_name_keeps_the_rows(spark: SparkSession, database: str) -> None:
    spark.range(500).withColumn("p", F.expr("id % 2")).write.partitionBy("p").saveAsTable("numbers")
    table = ZOrderTable.forName(spark, f"{database}.numbers")
    before = rows_of(table.toDF())
    (result,) = table.optimize().where("p = 1").executeZOrderBy("id").collect()
    assert result.metrics.numRows == 250
    assert rows_of(table.toDF()) == before


def test_a_dry_run_changes_nothing(table: ZOrderTable, directory: Path) -> None:
    before = snapshot(directory)
    (result,) = table.optimize().dryRun().executeZOrderBy("x", "y").collect()
    assert result.dryRun
    assert snapshot(directory) == before


def test_into_leaves_the_source_alone(
    spark: SparkSession, table: ZOrderTable, directory: Path, tmp_path: Path
) -> None:
    before, target = snapshot(directory), tmp_path / "it's elsewhere"
    table.optimize().into(str(target)).executeZOrderBy("x", "y")
    assert snapshot(directory) == before
    assert rows_of(spark.read.parquet(str(target))) == rows_of(table.toDF())


def test_into_a_quoted_name_where_backslashes_escape_nothing(
    spark: SparkSession, table: ZOrderTable, tmp_path: Path
) -> None:
    target = tmp_path / "it's elsewhere"
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        table.optimize().into(str(target)).executeZOrderBy("x", "y")
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert rows_of(spark.read.parquet(str(target))) == rows_of(table.toDF())


def test_an_error_in_the_predicate_is_not_taken_for_a_missing_extension(table: ZOrderTable) -> None:
    with pytest.raises(ParseException):
        table.optimize().where("p = = 1").executeZOrderBy("x")

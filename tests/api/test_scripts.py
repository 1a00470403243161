# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Our statements inside of SQL scripts, and IDENTIFIER as their target, also over Spark Connect."""

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

HAS_SCRIPTS = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 0)
pytestmark = pytest.mark.skipif(not HAS_SCRIPTS, reason="Spark 3.5 has no scripts")


@pytest.fixture
def sales(spark: SparkSession, database: str) -> str:
    """A table of the catalog with eight files."""
    spark.range(0, 800, 1, 8).select(
        (F.col("id") * 7919 % 800).alias("a"), (F.col("id") * 104729 % 800).alias("b")
    ).write.saveAsTable("sales")
    return f"{database}.sales"


def files(spark: SparkSession, table: str) -> int:
    return spark.table(table).select(F.input_file_name()).distinct().count()


def test_statements_run_in_a_script(spark: SparkSession, sales: str) -> None:
    spark.sql(f"""
        BEGIN
          DECLARE n INT DEFAULT 0;
          OPTIMIZE TABLE {sales} ZORDER BY (a, b);
          WHILE n < 2 DO
            REFRESH ZORDER INDEX ON {sales};
            SET n = n + 1;
          END WHILE;
          DROP ZORDER INDEX IF EXISTS ON {sales};
          CREATE ZORDER INDEX ON {sales} (a);
          IF n = 2 THEN
            INSERT INTO {sales} VALUES (-1, -1);
          END IF;
        END
    """).collect()
    rows = spark.table(sales)
    assert rows.count() == 801
    assert rows.where("a = -1 AND b = -1").count() == 1
    history = spark.sql(f"SHOW LAYOUT HISTORY {sales}").collect()
    assert len(history) == 1
    kept = spark.sql(f"SHOW SKIPPING FOR SELECT * FROM {sales} WHERE a = 5").first()
    assert kept is not None
    assert kept["used"]


def test_the_last_query_of_a_script_is_its_result(spark: SparkSession, sales: str) -> None:
    found = spark.sql(f"""
        BEGIN
          CREATE ZORDER INDEX ON {sales};
          SELECT count(*) AS n FROM {sales} WHERE a < 100;
        END
    """).collect()
    assert [row["n"] for row in found] == [100]


def test_a_script_goes_on_after_an_error_of_ours(spark: SparkSession, sales: str) -> None:
    spark.sql(f"""
        BEGIN
          DECLARE EXIT HANDLER FOR SQLEXCEPTION
          BEGIN
            INSERT INTO {sales} VALUES (-1, -1);
          END;
          OPTIMIZE TABLE {sales} ZORDER BY (no_such_column);
        END
    """).collect()
    assert spark.table(sales).where("a = -1").count() == 1


def test_identifier_names_the_target(spark: SparkSession, sales: str) -> None:
    before = files(spark, sales)
    spark.sql("OPTIMIZE TABLE IDENTIFIER(:t) ZORDER BY (a, b)", args={"t": sales}).collect()
    spark.sql(f"CREATE ZORDER INDEX IF NOT EXISTS ON IDENTIFIER('{sales}')").collect()
    assert files(spark, sales) < before
    assert spark.sql("SHOW LAYOUT IDENTIFIER(:t)", args={"t": sales}).count() > 0


def test_identifier_in_a_script(spark: SparkSession, sales: str) -> None:
    spark.sql(f"""
        BEGIN
          DECLARE target STRING DEFAULT '{sales}';
          OPTIMIZE TABLE IDENTIFIER(target) ZORDER BY (a, b);
        END
    """).collect()
    assert len(spark.sql(f"SHOW LAYOUT HISTORY {sales}").collect()) == 1


def test_a_script_on_a_path(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(100).repartition(4).write.parquet(f"{tmp_path}/t")
    spark.sql(f"BEGIN OPTIMIZE parquet.`{tmp_path}/t` ZORDER BY (id); END").collect()
    assert spark.read.parquet(f"{tmp_path}/t").count() == 100
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1

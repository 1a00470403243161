# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The benchmarks of inserts, on a small table."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.insert import ten
from benchmarks.insert.many import HEAD, Series, run
from benchmarks.insert.tasks import task_seconds
from tests.support.optimizing import settings

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]


def test_many_inserts_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    before = task_seconds(spark)
    outcome = run(spark, tmp_path / "many", "cells", Series(inserts=4, every=2, rows=3000))
    spark.sql("DROP TABLE many")
    assert task_seconds(spark) > before
    assert outcome.inserted > 4 * 3000
    assert (len(outcome.always), len(outcome.after)) == (4, 2)
    assert min(outcome.always) >= 0.9
    assert len(outcome.line("cells")) == len(HEAD)


def test_ten_inserts_are_measured(spark: SparkSession, tmp_path: Path) -> None:
    day = F.date_add(F.lit("1992-01-01").cast("date"), F.pmod(F.hash("id"), F.lit(2000)))
    rows = spark.range(0, 20_000, 1, 4).select(
        F.xxhash64("id").alias("l_partkey"), day.alias("l_shipdate")
    )
    rows.write.parquet(str(tmp_path / "source"))
    parts = ten.deal(spark, tmp_path / "source", "l_shipdate", tmp_path)
    assert len(parts) == ten.INSERTS
    # the benchmark changes them for its session
    sizes = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    with settings(spark, {name: str(spark.conf.get(name)) for name in sizes}):
        text = ten.run(spark, parts, ("l_partkey", "l_shipdate"), tmp_path)
    for way in ten.WAYS:
        assert f"| {way} " in text
        assert spark.table(f"ten_{way}").count() == 20_000
        spark.sql(f"DROP TABLE ten_{way}")

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Dates and timestamps before 1582, in the old calendar and in the new."""

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from tests.support import rows_of
from tests.support.optimizing import optimize, settings

pytestmark = pytest.mark.classic_only


OLD = [dt.date(1000, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(2020, 5, 5)]


@pytest.mark.parametrize(
    "kind",
    ["TIMESTAMP_MICROS", pytest.param("TIMESTAMP_MILLIS", marks=pytest.mark.slow), "INT96"],
)
@pytest.mark.parametrize("mode", ["LEGACY", pytest.param("CORRECTED", marks=pytest.mark.slow)])
def test_dates_before_1582(spark: SparkSession, tmp_path: Path, mode: str, kind: str) -> None:
    rows = [(i, d, f"{d} 01:02:03") for i, d in enumerate(OLD * 8)]
    frame = spark.createDataFrame(rows, "i INT, d DATE, t STRING")
    frame = frame.withColumn("t", frame.t.cast("timestamp"))
    write_modes = {
        "spark.sql.parquet.datetimeRebaseModeInWrite": mode,
        "spark.sql.parquet.int96RebaseModeInWrite": mode,
        "spark.sql.parquet.outputTimestampType": kind,
    }
    table = tmp_path / "t"
    with settings(spark, write_modes):
        frame.repartition(2).write.parquet(str(table))
    before = strings(spark, table)
    with settings(spark, dict.fromkeys(list(write_modes)[:2], "EXCEPTION")):
        optimize(spark, table, ["d", "t"], verify="full")
    assert strings(spark, table) == before
    found = spark.read.parquet(str(table)).where("d < '1500-01-01' AND t < '1500-01-01'").count()
    assert found == 8


def test_legacy_and_modern_dates_in_one_table(spark: SparkSession, tmp_path: Path) -> None:
    for mode in ("LEGACY", "CORRECTED"):
        with settings(spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": mode}):
            frame = spark.createDataFrame([(d, mode) for d in OLD], "d DATE, m STRING")
            frame.coalesce(1).write.mode("append").parquet(str(tmp_path / "t"))
    before = strings(spark, tmp_path / "t")
    optimize(spark, tmp_path / "t", ["d"], verify="full")
    assert strings(spark, tmp_path / "t") == before


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_dates_of_a_writer_that_names_no_calendar(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    table = foreign(tmp_path)
    # the setting says in which calendar such a file counts
    with settings(spark, {"spark.sql.parquet.datetimeRebaseModeInRead": mode}):
        before = strings(spark, table)
        optimize(spark, table, ["d"], verify="full")
        assert strings(spark, table) == before
    # the new file says it itself
    assert strings(spark, table) == before


def test_dates_that_spark_refuses_to_read_are_not_rewritten(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = foreign(tmp_path)
    files = set(table.iterdir())
    mode = "spark.sql.parquet.datetimeRebaseModeInRead"
    with settings(spark, {mode: "EXCEPTION"}), pytest.raises(Exception, match=mode):
        optimize(spark, table, ["d"])
    assert {f for f in table.iterdir() if f.suffix == ".parquet"} == files


def foreign(base: Path) -> Path:
    """Write a table by a library that notes no version of Spark."""
    table = base / "t"
    table.mkdir()
    for i in range(2):
        days = pa.array(OLD * 8, pa.date32())
        ids = pa.array(range(i, i + len(days)), pa.int32())
        pq.write_table(pa.table({"i": ids, "d": days}), table / f"{i}.parquet")
    return table


def strings(spark: SparkSession, table: Path) -> Counter[Any]:
    frame = spark.read.parquet(str(table))
    return rows_of(frame.select(*(frame[c].cast("string") for c in frame.columns)))

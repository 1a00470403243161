# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Texts that differ only behind a long common beginning."""

from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from spark_zorder import explain_skipping
from tests.support import data_files, rows_of

pytestmark = pytest.mark.not_connect

FILES = 16


def lay_out(spark: SparkSession, path: Path, prefix: int, data_format: str = "parquet") -> Row:
    """Lay a table of 16 files out by two columns; `name` begins with so many equal letters."""
    spark.range(0, 4000, 1, 4).selectExpr(
        f"concat(repeat('x', {prefix}), lpad(pmod(id * 7919, 4000), 6, '0')) name",
        "pmod(hash(id), 1000) k",
    ).write.format(data_format).save(str(path))
    size = sum(f.stat().st_size for f in data_files(path, f"*.{data_format}")) // FILES
    return spark.sql(
        f"OPTIMIZE TABLE {data_format}.`{path}` ZORDER BY (name, k) "
        f"OPTIONS ('targetFileSize' '{size}')"
    ).collect()[0]


@pytest.mark.parametrize(
    "prefix", [*(pytest.param(n, marks=pytest.mark.slow) for n in (60, 100)), 1000]
)
@pytest.mark.parametrize("data_format", ["parquet", "orc"])
def test_a_long_common_beginning_does_not_hide_the_order(
    spark: SparkSession, tmp_path: Path, prefix: int, data_format: str
) -> None:
    done = lay_out(spark, tmp_path / "t", prefix, data_format)
    files = len(data_files(tmp_path / "t", f"*.{data_format}"))
    df = spark.read.format(data_format).load(str(tmp_path / "t"))
    shown = explain_skipping(df.where(f"name = repeat('x', {prefix}) || '000042'")).collect()
    assert shown[0].files == files >= FILES // 2
    assert shown[0].filesKept <= files // 2
    by_name = {c.name: c for c in done.columns}["name"]
    layout = {
        r.column: r
        for r in spark.sql(f"SHOW LAYOUT {data_format}.`{tmp_path}/t` FOR (name, k)").collect()
    }["name"]
    assert layout.filesPerPointQuery == pytest.approx(by_name.filesPerPointQueryAfter, rel=0.25)
    assert layout.filesPerPointQuery >= 1
    assert layout.excess > 0.8
    assert layout.pages.perPointQuery >= 1


def test_bounds_that_tell_no_files_apart_say_so(spark: SparkSession, tmp_path: Path) -> None:
    # footers have no more than 2,000 bytes of a bound
    done = lay_out(spark, tmp_path / "t", 2020)
    files = len(data_files(tmp_path / "t"))
    df = spark.read.parquet(str(tmp_path / "t"))
    query = df.where("name = repeat('x', 2020) || '000042'")
    equal = [r for r in explain_skipping(query).collect() if "=" in r.predicate]
    assert [r.filesDropped for r in equal] == [0]
    assert "cut" in equal[0].reason
    assert {c.name: c for c in done.columns}["name"].filesPerPointQueryAfter == files
    layout = {r.column: r for r in spark.sql(f"SHOW LAYOUT '{tmp_path}/t' FOR (name, k)").collect()}
    assert layout["name"].filesPerPointQuery == pytest.approx(files)
    assert layout["name"].excess > 1
    assert "cut" in layout["name"].warning
    assert sum(rows_of(query).values()) == 1


def test_files_of_spark_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.range(0, 4000).selectExpr(
        "concat(repeat('x', 300), lpad(id, 6, '0')) name", "id k"
    ).repartitionByRange(8, "name").write.parquet(str(path))
    spark.sql(f"CREATE ZORDER INDEX ON '{path}'")
    query = spark.read.parquet(str(path)).where("name = repeat('x', 300) || '000042'")
    assert explain_skipping(query).collect()[0].filesKept == 1
    layout = spark.sql(f"SHOW LAYOUT '{path}' FOR (name)").collect()[0]
    assert 1 <= layout.filesPerPointQuery < 2

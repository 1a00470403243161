# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Files whose schemas do not fit each other, or the catalog: refused, and the files are named."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.optimizing import numbers, pa, refusal, statement, write_each

pytestmark = pytest.mark.classic_only


def test_two_columns_of_one_name(spark: SparkSession, tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([numbers(), numbers(start=7)], names=["a", "a"])
    table = write_each(tmp_path / "t", twice)
    refusal(spark, statement(table, ["a"]), table, "ZORDER_INCOMPATIBLE_SCHEMAS", "part-0.parquet")


def test_nested_columns_that_differ_by_case(spark: SparkSession, tmp_path: Path) -> None:
    values = pa.array([{"x": i, "X": i + 7} for i in range(30)])
    table = write_each(tmp_path / "t", {"a": numbers(), "s": values})
    refusal(spark, statement(table, ["a"]), table, "ZORDER_INCOMPATIBLE_SCHEMAS", "part-0.parquet")


INCOMPATIBLE = {
    "int and string": (pa.int32(), pa.string()),
    "long and double": (pa.int64(), pa.float64()),
    "string and binary": (pa.string(), pa.binary()),
    "scales": (pa.decimal128(9, 2), pa.decimal128(9, 3)),
    "date and timestamp": (pa.date32(), pa.timestamp("us")),
    "with and without zone": (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    "value and list": (pa.int32(), pa.list_(pa.int32())),
    "value and struct": (pa.int32(), pa.struct([("x", pa.int32())])),
}


@pytest.mark.parametrize("name", list(INCOMPATIBLE))
def test_incompatible_files_are_both_named(spark: SparkSession, tmp_path: Path, name: str) -> None:
    one, two = (pa.nulls(30, kind) for kind in INCOMPATIBLE[name])
    table = write_each(tmp_path / "t", {"id": numbers(), "v": one}, {"id": numbers(), "v": two})
    says = ["`v`", "part-0.parquet", "part-1.parquet"]
    refusal(spark, statement(table, ["id"]), table, "ZORDER_INCOMPATIBLE_SCHEMAS", *says)


def test_nested_incompatible_files_are_both_named(spark: SparkSession, tmp_path: Path) -> None:
    lists = [pa.nulls(30, pa.list_(pa.struct([("x", k)]))) for k in (pa.int32(), pa.string())]
    table = write_each(tmp_path / "t", *({"id": numbers(), "v": v} for v in lists))
    says = ["v.element.x", "part-0.parquet", "part-1.parquet"]
    refusal(spark, statement(table, ["id"]), table, "ZORDER_INCOMPATIBLE_SCHEMAS", *says)


def test_a_catalog_that_declares_another_type(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    table = write_each(
        tmp_path / "t", {"id": numbers(pa.int64()), "v": numbers().cast(pa.string())}
    )
    spark.sql(f"CREATE TABLE t (id INT, v STRING) USING parquet LOCATION '{table}'")
    text = statement("t", ["v"])
    refusal(spark, text, table, "ZORDER_INCOMPATIBLE_SCHEMAS", "`id`", "catalog", "part-0.parquet")


def test_the_file_that_brought_a_column_is_named(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    table = write_each(
        tmp_path / "t",
        {"id": numbers()},
        {"id": numbers(), "v": numbers(pa.int32()), "w": numbers(pa.int32())},
        {"id": numbers(), "w": numbers(pa.int64()), "v": pa.nulls(30, pa.string())},
    )
    spark.sql(f"CREATE TABLE t (id BIGINT) USING parquet LOCATION '{table}'")
    says = ["`v`", "part-1.parquet", "part-2.parquet"]
    for target in (table, "t"):
        text = statement(target, ["id"])
        error = refusal(spark, text, table, "ZORDER_INCOMPATIBLE_SCHEMAS", *says)
        assert "the catalog" not in str(error)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Types that rewritten files cannot keep: refused, or changed where the user allows the change."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.every_type import MOMENT, ROWS
from tests.support.optimizing import (
    arrow_rows,
    check_same_table,
    chunks,
    footers,
    has_bounds,
    optimize,
    pa,
    refusal,
    settings,
    statement,
    write_parts,
)

pytestmark = pytest.mark.classic_only


@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_is_refused_unless_allowed(spark: SparkSession, tmp_path: Path, name: str) -> None:
    values = pa.array([2 ** int(name[4:]) - 1 - i for i in range(20)], getattr(pa, name)())
    table = write_parts(tmp_path / "t", pa.table({"id": pa.array(range(20)), "u": values}), 2)
    before = arrow_rows(table)
    refusal(
        spark, statement(table, ["id"]), table, "ZORDER_TYPE_NOT_WRITABLE", "`u`", "allowTypeChange"
    )
    optimize(spark, table, ["id", "u"], allowTypeChange="true", verify="full")
    after = arrow_rows(table)
    assert {r.replace("Decimal('", "").replace("')", "") for r in after} == set(before)


def test_bytes_of_one_length_are_refused_unless_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    values = pa.array([(7919 * i % 4096).to_bytes(4, "big") for i in range(2000)], pa.binary(4))
    table = write_parts(tmp_path / "t", pa.table({"id": pa.array(range(2000)), "u": values}), 4)
    before = arrow_rows(table)
    said = ["`u`", "FIXED_LEN_BYTE_ARRAY(4)", "BINARY", "allowTypeChange"]
    refusal(spark, statement(table, ["id"]), table, "ZORDER_TYPE_NOT_WRITABLE", *said)
    # statements that write no rows take the column as Spark does
    spark.sql(f"CREATE ZORDER INDEX ON '{table}'")
    frame = spark.read.parquet(str(table))
    assert frame.where("u = X'00000001'").count() == 1
    optimize(spark, table, ["u", "id"], allowTypeChange="true", verify="full")
    assert arrow_rows(table) == before
    assert spark.read.parquet(str(table)).where("u = X'00000001'").count() == 1


REFUSED = {
    "half": (pa.array([1.5] * 4).cast(pa.float16()), "FLOAT16"),
    "nanoseconds": (pa.array([1, 2, 3, 4], pa.timestamp("ns")), "NANOS"),
    "time_ms": (pa.array([1, 2, 3, 4], pa.time32("ms")), "TIME"),
    "time_us": (pa.array([1, 2, 3, 4], pa.time64("us")), "TIME"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_spark_cannot_read_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    values, said = REFUSED[name]
    table = write_parts(tmp_path / "t", pa.table({"id": pa.array(range(4)), "bad col": values}), 1)
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_TYPE_NOT_READABLE", "bad col", said, "part-0.parquet")
    nested = pa.table({"id": pa.array(range(4)), "s": pa.StructArray.from_arrays([values], ["x"])})
    other = write_parts(tmp_path / "nested", nested, 1)
    refusal(spark, statement(other, ["id"]), other, "ZORDER_TYPE_NOT_READABLE", "s.x", said)


def test_uuid_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    (tmp_path / "t").mkdir()
    duckdb.sql(f"COPY (SELECT 1 id, uuid() u) TO '{tmp_path}/t/a.parquet'")
    text = statement(tmp_path / "t", ["id"])
    refusal(spark, text, tmp_path / "t", "ZORDER_TYPE_NOT_READABLE", "`u`", "UUID")


def test_lists_of_two_levels_are_refused_unless_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    with settings(spark, {"spark.sql.parquet.writeLegacyFormat": "true"}):
        spark.sql("SELECT id, array(id, id + 1) l FROM range(60)").write.parquet(str(table))
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_TYPE_NOT_WRITABLE", "`l`", "old layout", "allowTypeChange")
    before = arrow_rows(table)
    optimize(spark, table, ["id"], allowTypeChange="true", verify="full")
    assert arrow_rows(table) == before


def int96(directory: Path) -> Path:
    moments = [MOMENT - dt.timedelta(days=997 * i) for i in range(ROWS)]
    table = pa.table({"id": pa.array(range(ROWS)), "at": pa.array(moments, pa.timestamp("us"))})
    return write_parts(directory, table, use_deprecated_int96_timestamps=True, store_schema=False)


def test_int96_becomes_microseconds_with_bounds(spark: SparkSession, tmp_path: Path) -> None:
    table = int96(tmp_path / "t")
    before = sorted(map(repr, spark.read.parquet(str(table)).collect()))
    optimize(spark, table, ["at", "id"], verify="full")
    assert sorted(map(repr, spark.read.parquet(str(table)).collect())) == before
    for file in footers(table):
        assert "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds" in str(file.schema)
        assert all(has_bounds(chunk) for chunk in chunks(file))


def test_int96_is_preserved_on_demand(spark: SparkSession, tmp_path: Path) -> None:
    table = int96(tmp_path / "t")
    text = statement(table, ["at"], timestampType="preserve")
    refusal(spark, text, table, "ZORDER_COLUMN_NOT_ORDERABLE", "`at`", "INT96", "micros")
    check_same_table(spark, table, ["id"], timestampType="preserve")
    assert "int96" in str(footers(table)[0].schema)


def test_layout_of_unsigned_values_beyond_the_signed_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Their bounds are ordered as unsigned in files, and count as unknown."""
    many = [0, 5, 2**31, 2**32 - 1]
    columns = {
        "u": pa.array(many, pa.uint32()),
        "v": pa.array([m << 32 for m in many], pa.uint64()),
    }
    table = write_parts(tmp_path / "t", pa.table({"id": pa.array(range(4)), **columns}), 2)
    rows = spark.sql(f"SHOW LAYOUT parquet.`{table}`").collect()
    assert {row["column"] for row in rows} == {"id", "u", "v"}

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Columns of every type, whoever wrote them: their values, types and bounds."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files
from tests.support.every_type import ATOMS, NESTED
from tests.support.optimizing import (
    arrow_rows,
    check_same_table,
    chunks,
    footers,
    has_bounds,
    optimize,
    pa,
    pq,
    run,
    statement,
    write_parts,
)

pytestmark = pytest.mark.classic_only


def test_every_type_of_pyarrow_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "t", pa.table(ATOMS))
    files = footers(table)
    assert "FIXED" in str({c.physical_type for c in _columns(files[0])})  # decimals as pyarrow does
    result = check_same_table(spark, table, ["int32", "string", "double"], targetFileSize="6k")
    assert result.metrics.numFilesAdded > 2


def test_every_type_is_an_ordering_column(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "t", pa.table(ATOMS), 2)
    check_same_table(spark, table, list(ATOMS), targetFileSize="12k")


@pytest.mark.parametrize("name", ["bool", "binary", "decimal_38_18", "timestamp_ms", "float"])
def test_every_type_is_the_only_ordering_column(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    table = write_parts(tmp_path / "t", pa.table({"v": ATOMS[name]}), 2)
    check_same_table(spark, table, ["v"])


def test_nested_types_of_pyarrow_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "t", pa.table(NESTED))
    check_same_table(spark, table, ["id"], targetFileSize="4k")


def test_an_ordering_column_inside_a_struct(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "t", pa.table(NESTED))
    before = arrow_rows(table)
    sql = statement(table) + " ZORDER BY (struct.b.c, `struct`.`a`)"
    assert [c.name for c in run(spark, sql).columns] == ["struct.b.c", "struct.a"]
    assert arrow_rows(table) == before
    leaves = {c.path_in_schema: has_bounds(c) for f in footers(table) for c in chunks(f)}
    assert leaves["struct.b.c"]
    assert leaves["struct.a"]


def test_every_type_of_duckdb_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    (tmp_path / "t").mkdir()
    select = """
      SELECT i % 2 = 0 AS bool, i::TINYINT AS int8, i::SMALLINT AS int16, i::INTEGER AS int32,
        i * 10000000000 AS int64, i::FLOAT / 2 AS float, (i - 30) / 3.0::DOUBLE AS double,
        i::DECIMAL(4, 1) AS d4, i::DECIMAL(9, 2) AS d9, (i / 7)::DECIMAL(18, 6) AS d18,
        (i * 1000003)::DECIMAL(38, 18) AS d38, DATE '1500-01-01' + i::INTEGER * 900 AS date,
        TIMESTAMP '1850-01-01 00:00:01' + i * INTERVAL 1 MONTH AS ntz,
        (TIMESTAMP '1850-01-01 00:00:01' + i * INTERVAL 1 MONTH)::TIMESTAMPTZ AS tz,
        (TIMESTAMP '2020-01-01' + i * INTERVAL 1 HOUR)::TIMESTAMP_MS AS ms,
        'é' || i % 7 AS string, ('x' || i)::BLOB AS blob, [i, NULL, i + 1] AS list,
        {'a': i, 'b': {'c': CASE WHEN i % 2 = 0 THEN 'z' END}} AS struct, MAP {'k': i} AS map,
        CASE WHEN i % 5 = 0 THEN NULL ELSE [{'m': MAP {i: [i::DECIMAL(9, 2)]}}] END AS deep,
        NULL::INTEGER AS nulls
      FROM range(60) r(i)
    """
    for part in range(3):
        duckdb.sql(
            f"COPY (SELECT * FROM ({select}) WHERE int32 % 3 = {part})"
            f" TO '{tmp_path}/t/{part}.parquet'"
        )
    query = f"SELECT * FROM '{tmp_path}/t/*.parquet' ORDER BY int32"
    before, kinds = duckdb.sql(query).fetchall(), duckdb.sql(f"DESCRIBE {query}").fetchall()
    columns = ["int32", "d38", "date", "ntz", "string", "bool", "nulls", "blob", "double"]
    check_same_table(spark, tmp_path / "t", columns, targetFileSize="8k")
    assert duckdb.sql(query).fetchall() == before
    assert duckdb.sql(f"DESCRIBE {query}").fetchall() == kinds


def test_bytes_of_a_string_that_are_no_text_stay(spark: SparkSession, tmp_path: Path) -> None:
    values = [bytes([255, i, 0, 200]) for i in range(40)]
    text = pa.array(values, pa.binary()).view(pa.string())
    table = write_parts(tmp_path / "t", pa.table({"v": text, "id": pa.array(range(40))}), 2)
    optimize(spark, table, ["v", "id"], verify="full")
    found = [v for f in footers(table) for v in f.read()["v"].combine_chunks().view(pa.binary())]
    assert sorted(v.as_py() for v in found) == values


def test_a_column_of_no_type_stays(spark: SparkSession, tmp_path: Path) -> None:
    data = {"id": pa.array(range(20)), "nothing": pa.nulls(20)}
    check_same_table(spark, write_parts(tmp_path / "t", pa.table(data), 2), ["id"])


def test_long_strings_have_bounds_too(spark: SparkSession, tmp_path: Path) -> None:
    values = [f"{i:03}" + "x" * 6000 for i in range(40)]
    table = pa.table({"v": pa.array(values), "w": pa.array(range(40))})
    check_same_table(spark, write_parts(tmp_path / "t", table), ["v", "w"])


def _columns(file: Any) -> list[Any]:
    return [file.schema.column(i) for i in range(len(file.schema))]


def written(directory: Path, table: pa.Table) -> Path:
    directory.mkdir()
    pq.write_table(table, directory / "part.parquet")
    return directory


def test_a_schema_of_arrow_goes_only_with_columns_in_its_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pa.table({"wait": pa.array([1, 2], pa.duration("us")), "n": pa.array([1, 2])})
    other = written(tmp_path / "other", table)
    spark.sql(f"CREATE TABLE waits (n BIGINT, wait BIGINT) USING parquet LOCATION '{other}'")
    try:
        spark.sql("OPTIMIZE waits FULL ZORDER BY (n)")
    finally:
        spark.sql("DROP TABLE waits")
    (file,) = data_files(other)
    assert pq.read_schema(file).types == [pa.int64(), pa.int64()]
    # in the order of the files, the types of Arrow stay
    same = written(tmp_path / "same", table)
    spark.sql(f"OPTIMIZE '{same}' FULL ZORDER BY (n)")
    (file,) = data_files(same)
    assert pq.read_schema(file).types == [pa.duration("us"), pa.int64()]

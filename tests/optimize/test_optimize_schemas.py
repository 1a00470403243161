# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Rewritten files have the Parquet schema of their inputs, whichever engine wrote those."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files
from tests.support.every_type import ATOMS, DAY, NESTED, ROWS
from tests.support.optimizing import (
    check_same_table,
    footers,
    optimize,
    pa,
    pq,
    refusal,
    run,
    settings,
    shape,
    statement,
    write,
    write_each,
    write_parts,
)

pytestmark = pytest.mark.classic_only


def test_names_inside_lists_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({k: NESTED[k] for k in ("id", "list", "lists", "structs")})
    write_parts(tmp_path / "t", table, use_compliant_nested_type=False)
    check_same_table(spark, tmp_path / "t", ["id"])


def test_required_columns_stay_required(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("name", pa.string(), nullable=False),
            pa.field("s", pa.struct([pa.field("x", pa.int32(), nullable=False)]), nullable=True),
            pa.field("l", pa.list_(pa.field("element", pa.date32(), nullable=False))),
        ]
    )
    rows = [
        {"id": i, "name": str(i), "s": None if i % 3 else {"x": i}, "l": [DAY] * (i % 3)}
        for i in range(ROWS)
    ]
    write_parts(tmp_path / "t", pa.Table.from_pylist(rows, schema))
    check_same_table(spark, tmp_path / "t", ["id", "name"])


def test_field_ids_stay(spark: SparkSession, tmp_path: Path) -> None:
    def field(name: str, kind: Any, number: int) -> Any:
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    inner = pa.struct([field("x", pa.int32(), 8), field("y", pa.string(), 9)])
    items = pa.list_(field("element", pa.int32(), 11))
    schema = pa.schema([field("id", pa.int64(), 7), field("s", inner, 4), field("l", items, 3)])
    rows = [{"id": i, "s": {"x": i, "y": "z"}, "l": [i]} for i in range(ROWS)]
    write_parts(tmp_path / "t", pa.Table.from_pylist(rows, schema))
    for number in (3, 4, 7, 8, 9, 11):
        assert f"field_id={number} " in shape(footers(tmp_path / "t")[0])["parquet"]
    check_same_table(spark, tmp_path / "t", ["id"])


def test_a_column_with_two_field_ids_is_refused_to_a_session_that_reads_by_ids(
    spark: SparkSession, tmp_path: Path
) -> None:
    def file(number: int | None) -> Any:
        metadata = {"PARQUET:field_id": str(number)} if number else None
        x = pa.field("x", pa.int32(), metadata=metadata)
        schema = pa.schema([pa.field("id", pa.int64()), pa.field("s", pa.struct([x]))])
        return pa.Table.from_pylist([{"id": i, "s": {"x": i}} for i in range(ROWS)], schema)

    for name, other, text in [("a", 3, "field id 3"), ("b", None, "without a field id")]:
        table = write_each(tmp_path / name, file(2), file(other))
        statement = f"OPTIMIZE parquet.`{table}` ZORDER BY (id)"
        with settings(spark, {"spark.sql.parquet.fieldId.read.enabled": "true"}):
            says = ["field id 2", text, "`s.x`", "spark.sql.parquet.fieldId.read.enabled"]
            refusal(spark, statement, table, "ZORDER_INCOMPATIBLE_SCHEMAS", *says)
        # others find columns by name
        assert run(spark, statement).metrics.numFilesAdded > 0
    ids = [("a", "1"), ("A", "2")]
    schema = pa.schema([pa.field(n, pa.int32(), metadata={"PARQUET:field_id": i}) for n, i in ids])
    table = write_each(tmp_path / "c", pa.Table.from_pydict({"a": [1], "A": [2]}, schema))
    by_case = {"spark.sql.parquet.fieldId.read.enabled": "true", "spark.sql.caseSensitive": "true"}
    with settings(spark, by_case):
        assert run(spark, f"OPTIMIZE parquet.`{table}` ZORDER BY (a)").metrics.numFilesAdded == 1


def test_foreign_key_values_stay_where_the_inputs_agree(
    spark: SparkSession, tmp_path: Path
) -> None:
    table, directory = pa.table({"id": pa.array(range(ROWS))}), tmp_path / "t"
    for i in range(3):
        path = _made(directory) / f"{i}.parquet"
        with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"owner": "payroll", "größe": "ü", "run": str(i)})
    optimize(spark, directory, ["id"])
    for file in footers(directory):
        assert shape(file)["keys"] == {b"owner": b"payroll", "größe".encode(): "ü".encode()}


@pytest.mark.parametrize("codec", ["snappy", "gzip", "zstd", "none", "lz4"])
def test_the_codec_stays(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    table = pa.table({k: ATOMS[k] for k in ("int64", "string")})
    write_parts(tmp_path / "t", table, 2, compression=codec)
    check_same_table(spark, tmp_path / "t", ["int64"])


def test_several_codecs_become_one_and_reason_says_so(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({k: ATOMS[k] for k in ("int64", "string")})
    for i, codec in enumerate(("gzip", "snappy", "snappy")):
        write(tmp_path / f"t/{i}.parquet", table, compression=codec)
    write(tmp_path / "c/a.parquet", table, compression={"int64": "zstd", "string": "gzip"})
    reason = optimize(spark, tmp_path / "t", ["int64"]).reason
    assert "0.parquet" in reason
    assert "gzip" in reason
    assert "become snappy" in reason
    reason = optimize(spark, tmp_path / "c", ["int64"]).reason
    assert "a.parquet" in reason
    assert "become" in reason


@pytest.mark.parametrize("codecs", ["brotli", {"int64": "snappy", "string": "brotli"}])
def test_a_codec_without_its_library(spark: SparkSession, tmp_path: Path, codecs: Any) -> None:
    table = pa.table({k: ATOMS[k] for k in ("int64", "string")})
    write(tmp_path / "t/a.parquet", table)
    write(tmp_path / "t/b.parquet", table, compression=codecs)
    condition = "ZORDER_CODEC_NOT_AVAILABLE"
    for end in ("", " DRY RUN", f" INTO '{tmp_path}/copy'"):
        text = statement(tmp_path / "t", ["int64"]) + end
        refusal(spark, text, tmp_path, condition, "b.parquet", "brotli", "class path")


@pytest.mark.parametrize("converted", ["true", "false"])
def test_int96_of_a_foreign_writer_is_named(
    spark: SparkSession, tmp_path: Path, converted: str
) -> None:
    """Spark shifts such timestamps by the session's zone, if a setting says so."""
    at = pa.array([datetime.datetime(2024, 5, 1, 12, i) for i in range(30)], pa.timestamp("us"))
    table = pa.table({"id": pa.array(range(30)), "at": at})
    for i in range(2):
        write(tmp_path / f"t/{i}.parquet", table, use_deprecated_int96_timestamps=True)
    key = "spark.sql.parquet.int96TimestampConversion"
    with settings(spark, {key: converted, "spark.sql.session.timeZone": "Asia/Tokyo"}):
        rows = sorted(spark.read.parquet(str(tmp_path / "t")).collect())
        result = optimize(spark, tmp_path / "t", ["id"])
        assert sorted(spark.read.parquet(str(tmp_path / "t")).collect()) == rows
        for i in range(2):
            write(tmp_path / f"p/{i}.parquet", table, use_deprecated_int96_timestamps=True)
        # Hive and Impala look at the writer of a file, too
        kept = optimize(spark, tmp_path / "p", ["id"], timestampType="preserve").reason
        assert "Hive" in kept
        assert "Impala" in kept
    other = "false" if converted == "true" else "true"
    assert f"{key} = {other}" in result.reason
    assert "0.parquet" in result.reason
    assert optimize(spark, tmp_path / "t", ["id"], full=True).reason is None


def test_variant_stays_variant(spark: SparkSession, tmp_path: Path) -> None:
    """A setting lets Spark read it as the struct in which it is stored."""
    duckdb: Any = pytest.importorskip("duckdb")
    if spark.version < "4.1":
        pytest.skip("Parquet of this Spark does not know the annotation")
    (tmp_path / "t").mkdir()
    value = "CASE WHEN i % 2 = 0 THEN {'a': i}::VARIANT ELSE i::VARIANT END"
    for i in range(2):
        duckdb.sql(f"COPY (SELECT i, {value} v FROM range(30) r(i)) TO '{tmp_path}/t/{i}.parquet'")
    seen = f"SELECT DISTINCT typeof(v) FROM read_parquet('{tmp_path}/t/*.parquet')"
    assert duckdb.sql(seen).fetchall() == [("VARIANT",)]
    with settings(spark, {"spark.sql.parquet.ignoreVariantAnnotation": "true"}):
        assert optimize(spark, tmp_path / "t", ["i"]).reason is None
    assert duckdb.sql(seen).fetchall() == [("VARIANT",)]
    assert dict(spark.read.parquet(str(tmp_path / "t")).dtypes)["v"] == "variant"


def test_a_struct_of_which_files_lack_fields_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """Spark before 4.1 reads the struct as NULL where a file has none of the fields asked for."""
    for i, fields in enumerate(
        ({"a": 1}, {"b": 2, "n": {"x": 1}}, {"A": 3, "b": 4, "n": {"y": 1}})
    ):
        write(tmp_path / f"t/{i}.parquet", {"id": [i], "s": [fields]})
    write_parts(tmp_path / "same", pa.table({"id": [1, 2, 3], "s": [{"a": 1}] * 3}))
    reason = optimize(spark, tmp_path / "t", ["id"]).reason
    for said in ("0.parquet", "`s`", "`s.n`", "returnNullStructIfAllFieldsMissing"):
        assert said in reason
    assert optimize(spark, tmp_path / "same", ["id"]).reason is None


def test_annotations_that_spark_takes_for_strings_stay(spark: SparkSession, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    (tmp_path / "t").mkdir()
    for i in range(2):
        duckdb.sql(
            "COPY (SELECT i, ('a' || i % 3)::ENUM('a0', 'a1', 'a2') e, json_object('x', i) j"
            f" FROM range(50) r(i)) TO '{tmp_path}/t/{i}.parquet'"
        )
    check_same_table(spark, tmp_path / "t", ["i", "e"])


def test_the_legacy_format_of_spark_stays(spark: SparkSession, tmp_path: Path) -> None:
    """Spark stores decimals as byte arrays, and lists under the names `bag` and `array`."""
    table = tmp_path / "t"
    with settings(spark, {"spark.sql.parquet.writeLegacyFormat": "true"}):
        spark.sql(
            "SELECT id, CAST(id AS DECIMAL(7, 2)) d, array(id, NULL) l, map('k', id) m,"
            " array(named_struct('x', array(id, NULL)), NULL) n,"
            " CAST(id AS DECIMAL(15, 3)) e FROM range(60)"
        ).repartition(2).write.parquet(str(table))
    assert "fixed_len_byte_array" in str(footers(table)[0].schema)
    check_same_table(spark, table, ["d", "e", "id"])


def test_a_column_that_the_noted_spark_schema_does_not_know_is_not_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Pyarrow copies Spark's schema into the footer of a file with an additional column."""
    spark.range(50).coalesce(1).write.parquet(str(tmp_path / "from-spark"))
    (file,) = data_files(tmp_path / "from-spark")
    table = pq.read_table(file)
    assert b"org.apache.spark.sql.parquet.row.metadata" in table.schema.metadata
    table = table.append_column("extra", pa.array([f"v{i}" for i in range(50)]))
    check_same_table(spark, write_parts(tmp_path / "t", table, 2), ["id"])


def test_types_are_inferred_by_the_readers_settings_as_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Files of other writers do not note Spark's types, and rewritten files do not either."""
    rows = {"at": pa.array(range(50), pa.timestamp("us")), "b": pa.array([b"x"] * 50)}
    table = write_parts(tmp_path / "t", pa.table(rows), 2)
    reading = {
        "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
        "spark.sql.parquet.binaryAsString": "true",
    }
    with settings(spark, reading):
        before = spark.read.parquet(str(table)).schema
        check_same_table(spark, table, ["at"])
        assert spark.read.parquet(str(table)).schema == before
    assert [f.dataType.typeName() for f in before] == ["timestamp", "string"]


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory

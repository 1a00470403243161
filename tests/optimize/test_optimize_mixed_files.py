# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Tables whose files do not have the same schema."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files, rows_of
from tests.support.optimizing import (
    footers,
    numbers,
    optimize,
    pa,
    pq,
    refusal,
    run,
    settings,
    statement,
    write_each,
)

pytestmark = pytest.mark.classic_only


def merged(spark: SparkSession, table: Path) -> Counter[Any]:
    frame = spark.read.option("mergeSchema", "true").parquet(str(table))
    return Counter(repr(row) for row in frame.collect())


def check(spark: SparkSession, table: Path, *columns: str) -> Any:
    """Rows stay as Spark reads them with mergeSchema; returns the one schema of all new files."""
    before = merged(spark, table)
    optimize(spark, table, columns, verify="full")
    assert merged(spark, table) == before
    schemas = {str(f.schema_arrow.remove_metadata()) for f in footers(table)}
    assert len(schemas) == 1
    return footers(table)[0].schema_arrow


def later_columns(
    spark: SparkSession, name: str, columns: str, location: Path | None, kind: str = "parquet"
) -> None:
    """Make a table with 40 rows that are older than some of its columns."""
    at = f"LOCATION '{location}'" if location else ""
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING {kind} {at}")
    spark.sql(f"INSERT INTO {name} SELECT id FROM range(40)")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({columns})")


def test_missing_extra_and_reordered_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = write_each(
        tmp_path / "t",
        {"a": numbers(), "b": numbers(pa.int32())},
        {"c": numbers().cast(pa.string()), "a": numbers(start=100)},
        {"b": numbers(pa.int32()), "d": pa.array([[1]] * 30), "a": numbers(start=200)},
    )
    assert check(spark, table, "a", "c").names == ["a", "b", "c", "d"]


def test_a_required_column_that_one_file_lacks_becomes_optional(
    spark: SparkSession, tmp_path: Path
) -> None:
    required = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    with_b = pa.table([numbers(), numbers()], schema=required)
    schema = check(spark, write_each(tmp_path / "t", with_b, {"a": numbers()}), "a", "b")
    assert schema.field("b").nullable


def test_columns_of_another_case(spark: SparkSession, tmp_path: Path) -> None:
    table = write_each(tmp_path / "t", {"id": numbers(), "Name": numbers()}, {"ID": numbers()})
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        # no other session could read a file that holds both
        text = statement(table, ["id"])
        refusal(
            spark, text, table, "ZORDER_INCOMPATIBLE_SCHEMAS", "caseSensitive", "part-1.parquet"
        )
    assert check(spark, table, "id").names == ["id", "Name"]


def test_nested_columns_of_another_case(spark: SparkSession, tmp_path: Path) -> None:
    table = write_each(
        tmp_path / "t",
        {"s": pa.array([{"x": i, "y": 1} for i in range(30)])},
        {"S": pa.array([{"X": i} for i in range(30)])},
    )
    rows = sum(f.metadata.num_rows for f in footers(table))
    spark.sql(f"{statement(table)} ZORDER BY (s.x) OPTIONS ('verify' 'full')").collect()
    values = Counter(
        row["s"]["x"] for f in data_files(table) for row in pq.ParquetFile(f).read().to_pylist()
    )
    assert values == Counter(dict.fromkeys(range(30), 2))
    assert sum(values.values()) == rows


def test_two_columns_of_one_file_that_differ_by_case(spark: SparkSession, tmp_path: Path) -> None:
    table = write_each(tmp_path / "t", {"a": numbers(), "A": numbers(start=7)})
    text = statement(table, ["a"])
    refusal(spark, text, table, "ZORDER_INCOMPATIBLE_SCHEMAS", "caseSensitive", "part-0.parquet")
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        assert check(spark, table, "a", "A").names == ["a", "A"]


def test_widened_columns(spark: SparkSession, tmp_path: Path) -> None:
    def money(precision: int) -> Any:
        return pa.array([Decimal(i).scaleb(-2) for i in range(30)], pa.decimal128(precision, 2))

    table = write_each(
        tmp_path / "t",
        {"i": numbers(pa.int32()), "f": numbers().cast(pa.float32()), "d": money(7)},
        {"i": numbers(pa.int64(), start=2**40), "f": numbers().cast(pa.float64()), "d": money(20)},
        {"i": numbers(pa.int8()), "f": numbers().cast(pa.float32()), "d": money(9)},
    )

    def values() -> Counter[Any]:
        rows = [r for f in data_files(table) for r in pq.ParquetFile(f).read().to_pylist()]
        return Counter((r["i"], r["f"], r["d"]) for r in rows)

    before = values()
    optimize(spark, table, ["i", "f", "d"], verify="full")
    assert values() == before
    kinds = [footers(table)[0].schema_arrow.field(n).type for n in ("i", "f", "d")]
    assert kinds == [pa.int64(), pa.float64(), pa.decimal128(20, 2)]


def test_nested_fields_that_later_files_add(spark: SparkSession, tmp_path: Path) -> None:
    table = write_each(
        tmp_path / "t",
        {"id": numbers(), "s": pa.array([{"x": i} for i in range(30)])},
        {"id": numbers(), "s": pa.array([{"y": {"z": "a"}, "x": i} for i in range(30)])},
        {"id": numbers(), "l": pa.array([[{"u": 1, "v": None}], None] * 15)},
        {"id": numbers(), "l": pa.array([[{"u": 1, "w": "w"}], []] * 15)},
    )
    schema = check(spark, table, "id")
    assert schema.names == ["id", "s", "l"]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_widened_fields_of_structs_and_lists(
    spark: SparkSession, tmp_path: Path, vectorized: str
) -> None:
    def rows(small: Any, real: Any) -> Any:
        structs = pa.array([{"x": i} for i in range(30)], pa.struct([("x", small)]))
        return {"id": numbers(), "s": structs, "l": pa.array([[1.5, None]] * 30, pa.list_(real))}

    narrow, wide = rows(pa.int32(), pa.float32()), rows(pa.int64(), pa.float64())
    table = write_each(tmp_path / "t", narrow, wide)
    with settings(spark, {"spark.sql.parquet.enableNestedColumnVectorizedReader": vectorized}):
        optimize(spark, table, ["id"], verify="full")
    found = [r for f in data_files(table) for r in pq.ParquetFile(f).read().to_pylist()]
    assert Counter(r["s"]["x"] for r in found) == Counter([*range(30), *range(30)])
    assert {tuple(r["l"]) for r in found} == {(1.5, None)}
    assert footers(table)[0].schema_arrow.field("s").type == pa.struct([("x", pa.int64())])


def test_a_column_that_the_catalog_does_not_declare_stays(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    table = write_each(tmp_path / "t", {"id": numbers(), "v": numbers()}, {"id": numbers()})
    spark.sql(f"CREATE TABLE t (id BIGINT, more INT) USING parquet LOCATION '{table}'")
    rows = rows_of(spark.table("t"))
    optimize(spark, "t", ["id"], verify="full")
    assert rows_of(spark.table("t")) == rows
    found = [r["v"] for f in data_files(table) for r in pq.ParquetFile(f).read().to_pylist()]
    assert Counter(found) == Counter([*range(30), *[None] * 30])


def test_columns_added_by_alter_table(spark: SparkSession, database: str) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, v STRING) USING parquet")
    spark.sql("INSERT INTO t SELECT id, 'old' FROM range(40)")
    spark.sql("ALTER TABLE t ADD COLUMNS (extra INT, s STRUCT<a: INT>)")
    spark.sql("INSERT INTO t SELECT id, 'new', id, struct(1) FROM range(40)")
    before = rows_of(spark.table("t"))
    optimize(spark, "t", ["id", "extra"], verify="full")
    assert rows_of(spark.table("t")) == before


def test_columns_added_with_a_default(spark: SparkSession, database: str) -> None:
    later_columns(spark, "t", "n INT DEFAULT 42, w STRING DEFAULT 'it''s', z INT", None)
    spark.sql("ALTER TABLE t ALTER COLUMN n SET DEFAULT 7")
    spark.sql("INSERT INTO t (id) SELECT id FROM range(100, 140)")
    spark.sql("INSERT INTO t SELECT id, NULL, NULL, 1 FROM range(200, 210)")
    before = rows_of(spark.table("t"))
    assert {row.n for row in before} == {42, 7, None}
    optimize(spark, "t", ["n", "id"], verify="full")
    assert rows_of(spark.table("t")) == before
    optimize(spark, "t", ["w", "id"])
    assert rows_of(spark.table("t")) == before


def test_a_default_that_the_catalog_does_not_have_is_no_default(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """Footers note the defaults of the table by which they were written."""
    table = tmp_path / "t"
    later_columns(spark, "writer", "n INT DEFAULT 5", table)
    spark.sql("INSERT INTO writer SELECT id, 6 FROM range(40)")
    spark.sql(f"CREATE TABLE t (id BIGINT, n INT) USING parquet LOCATION '{table}'")
    before = rows_of(spark.table("t"))
    assert {row.n for row in before} == {None, 6}
    # readers of the directory would see the default, readers of the table do not
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_UNSUPPORTED_TABLE", f"`{database}`.`t`", "`n`")
    optimize(spark, "t", ["id"], verify="full")
    assert rows_of(spark.table("t")) == before


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_directory_of_a_table_with_a_default_that_its_files_do_not_note(
    spark: SparkSession, database: str, tmp_path: Path, kind: str
) -> None:
    """Whoever reads the directory alone cannot know the default."""
    table = tmp_path / "t"
    later_columns(spark, "t", "n INT DEFAULT 7, none INT DEFAULT NULL", table, kind)
    frame = spark.sql("SELECT id, 8 n, 9 none FROM range(40)")
    frame.write.format(kind).mode("append").save(str(table))
    before = rows_of(spark.table("t"))
    assert {row.n for row in before} == {7, 8}
    # a view has no directory
    spark.sql("CREATE VIEW v AS SELECT * FROM t")
    text = f"OPTIMIZE {kind}.`{table}` ZORDER BY (id)"
    says = [f"`{database}`.`t`", "`n`", "Name the table"]
    refusal(spark, text, table, "ZORDER_UNSUPPORTED_TABLE", *says)
    into = f"{text} INTO '{tmp_path / 'copy'}'"
    refusal(spark, into, table, "ZORDER_UNSUPPORTED_TABLE", *says)
    optimize(spark, "t", ["id"], verify="full")
    assert rows_of(spark.table("t")) == before
    # now each file holds the column
    by_path = text.replace("ZORDER", "FULL ZORDER")
    assert run(spark, by_path).metrics.numFilesAdded > 0
    assert rows_of(spark.table("t")) == before


def test_a_default_inside_a_column_keeps_what_the_files_cannot_hold(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """The files have milliseconds in required fields; the default has microseconds."""
    table = tmp_path / "t"
    default = "named_struct('at', TIMESTAMP'2020-01-01 00:00:00.123456', 'n', 5)"
    later_columns(spark, "t", f"s STRUCT<at: TIMESTAMP, n: INT> DEFAULT {default}", table)
    at = pa.field("at", pa.timestamp("ms", "UTC"), nullable=False)
    inner = pa.struct([at, pa.field("n", pa.int32(), nullable=False)])
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("s", inner)])
    rows = [{"id": i, "s": {"at": 1_600_000_000_000, "n": i}} for i in range(40)]
    pq.write_table(pa.Table.from_pylist(rows, schema), table / "more.parquet")
    spark.catalog.refreshTable("t")
    before = rows_of(spark.table("t"))
    assert {row.s.at.microsecond for row in before} == {123456, 0}
    optimize(spark, "t", ["id"])
    assert rows_of(spark.table("t")) == before


def test_a_default_that_a_type_of_the_files_would_cut(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """ORC files have VARCHAR(3); the default is a longer STRING."""
    table = tmp_path / "t"
    later_columns(spark, "t", "c STRING DEFAULT 'abcdef'", table, "orc")
    spark.sql(f"CREATE TABLE u (id BIGINT, c VARCHAR(3)) USING orc LOCATION '{table}'")
    spark.sql("INSERT INTO u SELECT id, 'xyz' FROM range(40)")
    spark.catalog.refreshTable("t")
    before = rows_of(spark.table("t"))
    assert {row.c for row in before} == {"abcdef", "xyz"}
    optimize(spark, "t", ["id"])
    assert rows_of(spark.table("t")) == before


def test_a_schema_of_arrow_goes_where_fields_get_another_order(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """Arrow gives its types to fields by position: the numbers would become durations."""
    inner = pa.struct([("wait", pa.duration("us")), ("n", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("s", inner)])
    rows = [{"id": i, "s": {"wait": timedelta(microseconds=i), "n": 2 * i}} for i in range(40)]
    table = write_each(
        tmp_path / "t",
        pa.Table.from_pylist(rows[:20], schema),
        pa.Table.from_pylist(rows[20:], schema),
    )
    fields = "id BIGINT, s STRUCT<n: BIGINT, wait: BIGINT>"
    spark.sql(f"CREATE TABLE t ({fields}) USING parquet LOCATION '{table}'")
    before = rows_of(spark.table("t"))
    optimize(spark, "t", ["id"])
    assert rows_of(spark.table("t")) == before
    found = [row for f in data_files(table) for row in pq.ParquetFile(f).read().to_pylist()]
    assert sorted(row["s"]["n"] for row in found) == [2 * i for i in range(40)]


def test_a_default_of_null_is_no_default(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    table = write_each(tmp_path / "t", {"id": numbers()}, {"id": numbers(), "n": numbers()})
    spark.sql(f"CREATE TABLE t (id BIGINT, n BIGINT DEFAULT NULL) USING parquet LOCATION '{table}'")
    before = rows_of(spark.table("t"))
    optimize(spark, table, ["id"])
    spark.catalog.refreshTable("t")
    assert rows_of(spark.table("t")) == before


@pytest.mark.parametrize("padding", ["true", "false"])
def test_char_and_varchar_are_stored_as_they_were(
    spark: SparkSession, database: str, tmp_path: Path, padding: str
) -> None:
    """CHAR values that another writer left unpadded must not be padded by OPTIMIZE."""
    values = pa.table({"id": numbers(), "c": pa.array(["ab", "ab   ", ""] * 10)})
    table = write_each(
        tmp_path / "t", values.append_column("v", pa.array([" x ", "y"] * 15)), values
    )
    spark.sql(
        f"CREATE TABLE t (id BIGINT, c CHAR(5), v VARCHAR(9)) USING parquet LOCATION '{table}'"
    )

    def stored() -> Counter[Any]:
        rows = [r for f in data_files(table) for r in pq.ParquetFile(f).read().to_pylist()]
        return Counter((r["id"], r["c"], r.get("v")) for r in rows)

    before = stored()
    with settings(spark, {"spark.sql.readSideCharPadding": padding}):
        optimize(spark, "t", ["c", "v", "id"], verify="full")
    assert stored() == before

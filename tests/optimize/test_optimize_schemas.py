"""The Parquet schema of rewritten files is that of their inputs, whoever wrote them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files
from tests.support.optimizing import (
    arrow_rows,
    check_same_table,
    footers,
    has_bounds,
    optimize,
    pa,
    pq,
    refusal,
    run,
    settings,
    shape,
    statement,
    write_parts,
)

pytestmark = pytest.mark.classic_only

ROWS = 90
DAY = dt.date(2024, 1, 1)
MOMENT = dt.datetime(2024, 1, 1, 12, 30, 15, 123000)


def some(values: list[Any]) -> list[Any]:
    """Values with a null now and then."""
    return [None if i % 11 == 5 else v for i, v in enumerate(values)]


def column(kind: Any, make: Any) -> Any:
    return pa.array(some([make(i * 37 % ROWS) for i in range(ROWS)]), kind)


ATOMS: dict[str, Any] = {
    "bool": column(pa.bool_(), lambda i: i % 2 == 0),
    "int8": column(pa.int8(), lambda i: i - 45),
    "int16": column(pa.int16(), lambda i: i * 300 - 9000),
    "int32": column(pa.int32(), lambda i: i * 10**7 - 5 * 10**8),
    "int64": column(pa.int64(), lambda i: i * 10**16 - 5 * 10**17),
    "float": column(pa.float32(), lambda i: float("nan") if i == 7 else i / 4 - 3),
    "double": column(pa.float64(), lambda i: -0.0 if i == 12 else i / 3 - 4),
    "decimal_9_2": column(pa.decimal128(9, 2), lambda i: Decimal(i * 12345 - 500000).scaleb(-2)),
    "decimal_18_6": column(pa.decimal128(18, 6), lambda i: Decimal(i * 10**14 - 10**15).scaleb(-6)),
    "decimal_38_18": column(
        pa.decimal128(38, 18), lambda i: Decimal((i - 40) * 10**30 + i).scaleb(-18)
    ),
    "date": column(pa.date32(), lambda i: DAY - dt.timedelta(days=i * 5000)),
    "timestamp_ms": column(pa.timestamp("ms"), lambda i: MOMENT - dt.timedelta(days=700 * i)),
    "timestamp_us": column(pa.timestamp("us"), lambda i: MOMENT + dt.timedelta(microseconds=i)),
    "timestamp_ms_utc": column(
        pa.timestamp("ms", "UTC"), lambda i: MOMENT - dt.timedelta(days=700 * i)
    ),
    "timestamp_us_zone": column(
        pa.timestamp("us", "Europe/Berlin"), lambda i: MOMENT + dt.timedelta(hours=i)
    ),
    "string": column(pa.string(), lambda i: f"Größe {i} 🎈" if i % 9 else ""),
    "binary": column(pa.binary(), lambda i: bytes([255 - i, i, 0])),
    "large_string": column(pa.large_string(), lambda i: "x" * (i % 7)),
    "dictionary": column(pa.string(), lambda i: f"colour {i % 4}").dictionary_encode(),
}

NESTED: dict[str, Any] = {
    "id": pa.array(range(ROWS), pa.int32()),
    "list": column(pa.list_(pa.int32()), lambda i: [i, None, 3][: i % 4]),
    "struct": column(
        pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.decimal128(9, 2))]))]),
        lambda i: {"a": i, "b": None if i % 3 == 0 else {"c": Decimal(i).scaleb(-2)}},
    ),
    "map": column(pa.map_(pa.string(), pa.float64()), lambda i: [("k", i / 2), ("n", None)]),
    "lists": column(pa.list_(pa.list_(pa.string())), lambda i: [["a"], None, [], [None]][: i % 5]),
    "map_of_lists": column(
        pa.map_(pa.int32(), pa.list_(pa.struct([("x", pa.timestamp("ms"))]))),
        lambda i: [(i, [{"x": MOMENT}, {"x": None}, None])],
    ),
    "structs": column(
        pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.decimal128(18, 6)))])),
        lambda i: [{"m": [("d", Decimal(i).scaleb(-6))]}, {"m": None}],
    ),
}


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
    leaves = {c.path_in_schema: has_bounds(c) for f in footers(table) for c in f_chunks(f)}
    assert leaves["struct.b.c"]
    assert leaves["struct.a"]


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


def test_annotations_that_spark_takes_for_strings_stay(spark: SparkSession, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    (tmp_path / "t").mkdir()
    for i in range(2):
        duckdb.sql(
            "COPY (SELECT i, ('a' || i % 3)::ENUM('a0', 'a1', 'a2') e, json_object('x', i) j"
            f" FROM range(50) r(i)) TO '{tmp_path}/t/{i}.parquet'"
        )
    check_same_table(spark, tmp_path / "t", ["i", "e"])


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


REFUSED = {
    "fixed": (pa.array([b"abcd"] * 4, pa.binary(4)), "FIXED_LEN_BYTE_ARRAY(4)"),
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


def test_the_legacy_format_of_spark_stays(spark: SparkSession, tmp_path: Path) -> None:
    """Decimals in byte arrays, lists of the names `bag` and `array`."""
    table = tmp_path / "t"
    with settings(spark, {"spark.sql.parquet.writeLegacyFormat": "true"}):
        spark.sql(
            "SELECT id, CAST(id AS DECIMAL(7, 2)) d, array(id, NULL) l, map('k', id) m,"
            " array(named_struct('x', array(id, NULL)), NULL) n,"
            " CAST(id AS DECIMAL(15, 3)) e FROM range(60)"
        ).repartition(2).write.parquet(str(table))
    assert "fixed_len_byte_array" in str(footers(table)[0].schema)
    check_same_table(spark, table, ["d", "e", "id"])


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
        assert all(has_bounds(chunk) for chunk in f_chunks(file))


def test_int96_is_preserved_on_demand(spark: SparkSession, tmp_path: Path) -> None:
    table = int96(tmp_path / "t")
    text = statement(table, ["at"], timestampType="preserve")
    refusal(spark, text, table, "ZORDER_COLUMN_NOT_ORDERABLE", "`at`", "INT96", "micros")
    check_same_table(spark, table, ["id"], timestampType="preserve")
    assert "int96" in str(footers(table)[0].schema)


def test_long_strings_have_bounds_too(spark: SparkSession, tmp_path: Path) -> None:
    values = [f"{i:03}" + "x" * 6000 for i in range(40)]
    table = pa.table({"v": pa.array(values), "w": pa.array(range(40))})
    check_same_table(spark, write_parts(tmp_path / "t", table), ["v", "w"])


def test_a_column_that_the_noted_spark_schema_does_not_know_is_not_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Pyarrow copies Spark's note of the schema into a file that has one more column by now."""
    spark.range(50).coalesce(1).write.parquet(str(tmp_path / "from-spark"))
    (file,) = data_files(tmp_path / "from-spark")
    table = pq.read_table(file)
    assert b"org.apache.spark.sql.parquet.row.metadata" in table.schema.metadata
    table = table.append_column("extra", pa.array([f"v{i}" for i in range(50)]))
    check_same_table(spark, write_parts(tmp_path / "t", table, 2), ["id"])


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _columns(file: Any) -> list[Any]:
    return [file.schema.column(i) for i in range(len(file.schema))]


def f_chunks(file: Any) -> list[Any]:
    meta = file.metadata
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    return [g.column(i) for g in groups for i in range(g.num_columns)]

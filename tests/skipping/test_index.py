# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The statements of the skipping index, and its file as other engines read it."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from spark_zorder import ZOrderTable
from tests.support import data_files
from tests.support.optimizing import quoted, write_parts

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

ROWS = 60


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three files with most types, written by pyarrow."""
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(ROWS)]
    return write_parts(
        tmp_path / "t",
        pa.table(
            {
                "id": pa.array(range(ROWS), pa.int64()),
                "price": pa.array([i / 4 for i in range(ROWS)], pa.float64()),
                "amount": pa.array([Decimal(i) / 100 for i in range(ROWS)], pa.decimal128(9, 2)),
                "wide": pa.array([Decimal(-i) for i in range(ROWS)], pa.decimal128(30, 3)),
                "day": pa.array(days, pa.date32()),
                "at": pa.array(
                    [dt.datetime.combine(d, dt.time(1)) for d in days], pa.timestamp("us", "UTC")
                ),
                "name": pa.array([f"n{i:03}" if i % 7 else None for i in range(ROWS)]),
                "point": pa.array([{"x": i, "tags": [i]} for i in range(ROWS)]),
            }
        ),
    )


def statement(spark: SparkSession, text: str, table: Path) -> Row:
    (row,) = spark.sql(f"{text} ON parquet.{quoted(str(table))}").collect()
    return row


def newest(table: Path) -> Path:
    generations = (p for p in (table / "_zorder" / "_index").iterdir() if p.name[1:].isdigit())
    return max(generations, key=lambda path: int(path.name[1:]))


def test_the_table_object(spark: SparkSession, table: Path) -> None:
    (row,) = ZOrderTable.forPath(spark, str(table)).createIndex("id", "point.x").collect()
    assert row.columns == ["id", "point.x"]


def test_an_option_by_the_table_object(spark: SparkSession, table: Path) -> None:
    made = ZOrderTable.forPath(spark, str(table)).createIndex("id", options={"int96": "read"})
    assert made.collect()[0].columns == ["id"]
    with pytest.raises(PySparkException) as error:
        ZOrderTable.forPath(spark, str(table)).createIndex(options={"int97": "read"}).collect()
    assert "int97" in str(error.value)


def entries(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["path"]: row["bounds"] for row in rows}


def by_pyarrow(file: Path) -> dict[str, Any]:
    return entries(pq.read_table(file).to_pylist())


def by_duckdb(file: Path) -> dict[str, Any]:
    duckdb: Any = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return entries(
            connection.execute("SELECT path, bounds FROM read_parquet(?)", [str(file)])
            .to_arrow_table()
            .to_pylist()
        )


@pytest.mark.parametrize("read", [by_pyarrow, by_duckdb])
def test_other_engines_read_the_index(
    spark: SparkSession, table: Path, read: Callable[[Path], dict[str, Any]]
) -> None:
    statement(spark, "CREATE ZORDER INDEX", table)
    found = read(newest(table))
    assert set(found) == {path.name for path in data_files(table)}
    for path in data_files(table):
        rows = pq.read_table(path).to_pylist()
        bounds = found[path.name]
        for column in ["id", "price", "amount", "wide", "day", "at", "name"]:
            values = [row[column] for row in rows if row[column] is not None]
            assert bounds[column]["nulls"] == ROWS // 3 - len(values), column
            assert bounds[column]["min"] == min(values), column
            assert bounds[column]["max"] == max(values), column
        assert bounds["point.x"]["max"] == max(row["point"]["x"] for row in rows)
        # pyarrow ignores NaN in its statistics, so the column may contain NaN
        assert bounds["price"]["may_hold_nan"] is True


def test_the_header(spark: SparkSession, table: Path) -> None:
    statement(spark, "CREATE ZORDER INDEX", table)
    file = pq.ParquetFile(newest(table))
    header = json.loads(file.metadata.metadata[b"spark.zorder.index"])
    assert header["version"] == 2
    assert header["chosen"] is None
    assert header["columns"][0] == {"path": ["id"], "kind": "int64"}
    assert header["columns"][-1]["path"] == ["point", "x"]
    assert ["point", "tags", "list", "element"] in header["shapes"][0]
    listed = {path.name: path.stat() for path in data_files(table)}
    for row in file.read().to_pylist():
        assert row["length"] == listed[row["path"]].st_size
        modified = row["modified"].replace(tzinfo=dt.timezone.utc).timestamp()
        assert modified == pytest.approx(listed[row["path"]].st_mtime, abs=0.002)
        assert row["rows"] == ROWS // 3
        assert row["schema"] == 0

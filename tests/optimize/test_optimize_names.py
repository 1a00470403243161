# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Columns may be called anything, and every orderable type of Spark can be an ordering column."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import rows_of
from tests.support.optimizing import (
    arrow_rows,
    footers,
    has_bounds,
    optimize,
    pa,
    quoted,
    write_parts,
)

pytestmark = pytest.mark.classic_only


def test_struct_called_like_the_metadata(spark: SparkSession, tmp_path: Path) -> None:
    values = pa.array([{"row_index": i % 7, "file_path": str(i)} for i in range(60)])
    table = write_parts(tmp_path / "t", pa.table({"_metadata": values, "id": pa.array(range(60))}))
    rows = arrow_rows(table)
    sql = f"OPTIMIZE parquet.{quoted(str(table))} ZORDER BY (_metadata.row_index, id)"
    spark.sql(f"{sql} OPTIONS ('sampleRows' '10', 'targetFileSize' '2k')").collect()
    assert arrow_rows(table) == rows


def as_strings(spark: SparkSession, path: str) -> Counter[Any]:
    """Rows as text: Python has no value for an interval of months."""
    frame = spark.read.parquet(path)
    return rows_of(frame.select(*(frame[c].cast("string") for c in frame.columns)))


TYPES = {
    "boolean": "id % 2 = 0",
    "tiny": "CAST(id % 100 AS TINYINT)",
    "small": "CAST(id * 100 AS SMALLINT)",
    "ints": "CAST(id AS INT)",
    "longs": "id * 1000000007",
    "floats": "CASE WHEN id = 5 THEN float('NaN') ELSE CAST(id AS FLOAT) END",
    "doubles": "CASE WHEN id = 5 THEN double('-Infinity') ELSE -id / 3D END",
    "small_decimal": "CAST(id AS DECIMAL(5, 2))",
    "big_decimal": "CAST(id AS DECIMAL(38, 18)) * -1.5",
    "strings": "concat('s', id % 17)",
    "bytes": "unhex(hex(id))",
    "dates": "date_add(DATE '1500-01-01', CAST(id AS INT) * 3000)",
    "moments": "timestamp_seconds(id * 10000000 - 9000000000)",
    "local_moments": "CAST(timestamp_seconds(id * 1000) AS TIMESTAMP_NTZ)",
    "months": "make_ym_interval(CAST(id % 30 AS INT), 3)",
    "spans": "make_dt_interval(0, CAST(id - 40 AS INT), 0, 0.5)",
    "chars": "CAST(concat('c', id) AS STRING)",
    "nulls": "CAST(NULL AS INT)",
    "constant": "1",
}


def test_every_type_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    # an interval counts as a type that other engines read as a number
    select = ", ".join(f"IF(id % 13 = 3, NULL, {text}) AS {name}" for name, text in TYPES.items())
    path = str(tmp_path / "t")
    spark.sql(f"SELECT id, {select} FROM range(120)").repartition(3).write.parquet(path)
    schema, rows = spark.read.parquet(path).schema, as_strings(spark, path)
    names = [n for n in TYPES if n != "moments"]
    optimize(spark, tmp_path / "t", [*names, "moments"], verify="full", targetFileSize="20k")
    assert spark.read.parquet(path).schema == schema
    assert as_strings(spark, path) == rows
    chunks = [
        (c.path_in_schema, has_bounds(c))
        for f in footers(tmp_path / "t")
        for i in range(f.metadata.num_row_groups)
        for c in map(f.metadata.row_group(i).column, range(len(f.schema)))
    ]
    assert [name for name, known in chunks if not known and name in TYPES] == []


@pytest.mark.parametrize("name", ["months", "spans", "nulls", "local_moments"])
def test_types_alone(spark: SparkSession, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "t")
    spark.sql(f"SELECT id, {TYPES[name]} AS v FROM range(50)").repartition(2).write.parquet(path)
    rows = as_strings(spark, path)
    optimize(spark, tmp_path / "t", ["v"], verify="full")
    assert as_strings(spark, path) == rows

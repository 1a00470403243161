# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Partition folders stay as they are named, and WHERE chooses among them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files, rows_of, snapshot
from tests.support.optimizing import arrow_rows, optimize, pa, refusal, settings, statement, write

pytestmark = pytest.mark.classic_only

DEFAULT = "__HIVE_DEFAULT_PARTITION__"


def folders(directory: Path) -> set[str]:
    return {str(f.parent.relative_to(directory)) for f in data_files(directory)}


def make(directory: Path, *names: str, **columns: Any) -> Path:
    """Two small files in each folder, with other rows in each."""
    for n, name in enumerate(names):
        for part in range(2):
            ids = pa.array([n * 1000 + i for i in range(part, 40, 2)])
            write(directory / name / f"{part}.parquet", {"id": ids, **columns})
    return directory


def check(spark: SparkSession, table: Path, where: str = "", **options: str) -> Any:
    """Rows stay in their folders, by every reader, and the chosen folders have new files."""
    rows, names, old = arrow_rows(table), folders(table), set(data_files(table))
    seen = rows_of(spark.read.parquet(str(table)))
    # whatever was laid out before
    result = optimize(spark, table, ["id"], where, full=True, **options)
    assert arrow_rows(table) == rows
    assert folders(table) == names
    assert rows_of(spark.read.parquet(str(table))) == seen
    left = {str(f.parent.relative_to(table)) for f in old & set(data_files(table))}
    assert result.metrics.partitionsOptimized == len(names - left)
    return names - left


ODD = ["a%2Fb", "50%25", "a%3Ab", "x y", "Größe", "it's", 'q"q', "a%3Db", "[1]", "{2}", "+&#"]


def test_odd_characters(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", *(f"p={value}" for value in ODD), f"p={ODD[0]}x")
    check(spark, table)
    assert check(spark, table, "p = 'a/b'") == {"p=a%2Fb"}
    assert check(spark, table, "p = '50%'") == {"p=50%25"}
    assert check(spark, table, "p = 'it''s' OR p LIKE 'Gr%'") == {"p=it's", "p=Größe"}


def test_odd_names_of_columns_and_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "my `table` 1,2 100%25/größe", "a b=1/select=x", "a b=2/select=y")
    check(spark, table)
    assert check(spark, table, "`a b` = 2 AND `select` = 'y'") == {"a b=2/select=y"}


def test_a_table_called_like_a_glob(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t[1] {a}*?", "p=1", "p=2")
    rows = arrow_rows(table)
    result = optimize(spark, table, ["id"], where="p = 1")
    assert result.metrics.partitionsOptimized == 1
    assert arrow_rows(table) == rows


def test_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    names = ["at=2026-01-01 10%3A00%3A00", "at=2026-01-01 10%3A00%3A00.5", "at=2026-02-01"]
    table = make(tmp_path / "t", *names)
    check(spark, table)
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        where = "at = TIMESTAMP '2026-01-01 10:00:00'"
        assert check(spark, table, where) == {names[0]}
    assert check(spark, table, "month(at) = 1") == set(names[:2])


def test_nested_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    names = [
        f"year={y}/month={m:02}/region={r}" for y in (2025, 2026) for m in (1, 2) for r in "ab"
    ]
    table = make(tmp_path / "t", *names)
    assert check(spark, table) == set(names)
    assert check(spark, table, "region = upper('A') OR lower(region) = 'b' AND year > 2025") == {
        "year=2026/month=01/region=b",
        "year=2026/month=02/region=b",
    }
    assert check(spark, table, "month IN (7, 8)") == set()


def test_types_that_are_not_inferred(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "p=1", "p=01")
    with settings(spark, {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}):
        assert check(spark, table, "p = '01'") == {"p=01"}


def test_a_partition_column_that_the_files_hold_too(spark: SparkSession, tmp_path: Path) -> None:
    """DuckDB and others can write it into the files as well; it must not vanish from them."""
    table = make(tmp_path / "t", "p=1", "p=2", p=pa.array([1] * 20), v=pa.array(["x"] * 20))
    check(spark, table, verify="full")
    refusal(spark, statement(table, ["p"]), table, "ZORDER_COLUMN_IS_PARTITION_COLUMN", "`p`")


def test_bytes_of_other_partitions_are_untouched(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "p=1", "p=2")
    before = snapshot(table / "p=2")
    assert check(spark, table, "p = 1") == {"p=1"}
    assert snapshot(table / "p=2") == before


def test_partitions_of_the_catalog_keep_their_folders(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """A folder of its own name inside the table, and names that Spark escapes."""
    spark.sql(
        "CREATE TABLE t (id BIGINT, p STRING, q DATE) USING parquet PARTITIONED BY (p, q)"
        f" LOCATION '{tmp_path}/t'"
    )
    spark.sql(
        "INSERT INTO t SELECT id, explode(array('a/b', 'x:y', '', 'ü')), DATE '2026-01-01'"
        " FROM range(40) UNION ALL SELECT id, NULL, NULL FROM range(40)"
    )
    spark.range(30).write.parquet(str(tmp_path / "t/by-hand"))
    spark.sql(
        "ALTER TABLE t ADD PARTITION (p = 'hand', q = '2026-01-02')"
        f" LOCATION '{tmp_path}/t/by-hand'"
    )
    rows, names, stored = rows_of(spark.table("t")), folders(tmp_path / "t"), arrow_rows(tmp_path)
    optimize(spark, "t", ["id"], verify="full")
    assert rows_of(spark.table("t")) == rows
    assert folders(tmp_path / "t") == names
    assert arrow_rows(tmp_path) == stored
    result = optimize(spark, "t", ["id"], where="p = 'a/b' AND year(q) = 2026", full=True)
    assert result.metrics.partitionsOptimized == 1

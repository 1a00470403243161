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


def test_two_names_of_one_value_stay_two_folders(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "p=1", "p=01", "p=2")
    assert check(spark, table) == {"p=1", "p=01", "p=2"}
    assert check(spark, table, "p = 1") == {"p=1", "p=01"}


def test_the_null_partition(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", f"p={DEFAULT}", "p=a", "p=b")
    check(spark, table)
    assert f"p={DEFAULT}" in check(spark, table, "p IS NULL")
    assert check(spark, table, "p = 'a'") == {"p=a"}


ODD = ["a%2Fb", "50%25", "a%3Ab", "x y", "Größe", "it's", 'q"q', "a%3Db", "[1]", "{2}", "+&#"]


def test_odd_characters(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", *(f"p={value}" for value in ODD), f"p={ODD[0]}x")
    check(spark, table)
    assert check(spark, table, "p = 'a/b'") == {"p=a%2Fb"}
    assert check(spark, table, "p = '50%'") == {"p=50%25"}
    assert check(spark, table, "p = 'it''s' OR p LIKE 'Gr%'") == {"p=it's", "p=Größe"}


def test_a_colon_that_another_writer_did_not_escape(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "at=2026-01-01 10:30:00", "at=2026-01-02 00:00:00")
    check(spark, table)
    assert check(spark, table, "hour(at) = 10") == {"at=2026-01-01 10:30:00"}


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
    where = "make_date(year, month, 1) BETWEEN DATE '2025-02-01' AND DATE '2026-01-31'"
    assert len(check(spark, table, where)) == 4
    assert check(spark, table, "month IN (7, 8)") == set()
    assert check(spark, table, "CASE WHEN year = 2025 THEN month = 1 ELSE false END") == set(
        names[:2]
    )


def test_types_that_are_not_inferred(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "p=1", "p=01")
    with settings(spark, {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}):
        assert check(spark, table, "p = '01'") == {"p=01"}


def test_five_hundred_partitions_in_batches(spark: SparkSession, tmp_path: Path) -> None:
    for p in range(120):
        write(tmp_path / f"t/p={p}/a.parquet", {"id": pa.array([p, p + 1])})
    rows = arrow_rows(tmp_path / "t")
    result = optimize(spark, tmp_path / "t", ["id"], batchSize="30k", verify="full")
    assert result.metrics.numBatches > 1
    assert result.metrics.partitionsOptimized == 120
    assert arrow_rows(tmp_path / "t") == rows


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


@pytest.fixture
def outside(spark: SparkSession, database: str, tmp_path: Path) -> Path:
    """A catalog table t with one partition that lies elsewhere."""
    table, other = tmp_path / "t", tmp_path / "other"
    spark.sql(
        f"CREATE TABLE t (id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{table}'"
    )
    for p in (1, 2):
        spark.sql(f"INSERT INTO t PARTITION (p = {p}) SELECT id FROM range(50)")
    spark.range(9).write.parquet(str(other))
    spark.sql(f"ALTER TABLE t ADD PARTITION (p = 3) LOCATION '{other}'")
    return other


def test_a_partition_outside_the_table_is_left_out(spark: SparkSession, outside: Path) -> None:
    before, rows = snapshot(outside), rows_of(spark.table("t"))
    result = optimize(spark, "t", ["id"])
    assert "p=3" in result.reason
    assert str(outside) in result.reason
    assert result.metrics.partitionsOptimized == 2
    assert snapshot(outside) == before
    assert rows_of(spark.table("t")) == rows
    assert len(rows) == 59 or sum(rows.values()) == 109
    assert optimize(spark, "t", ["id"], where="p < 3", full=True).reason is None


def test_a_partition_outside_the_table_is_refused_by_name(
    spark: SparkSession, outside: Path
) -> None:
    for where in ("p = 3", "p > 1", "t.p IN (1, 3)"):
        text = statement("t", ["id"], where=where)
        says = ["p=3", str(outside)]
        refusal(spark, text, outside.parent, "ZORDER_PARTITION_OUTSIDE_TABLE", *says)


def test_partitions_of_the_catalog_keep_their_folders(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    """A folder of its own name inside the table, and names that Spark escapes."""
    spark.sql(
        "CREATE TABLE t (id BIGINT, p STRING, q DATE) USING parquet PARTITIONED BY (p, q)"
        f" LOCATION '{tmp_path}/t'"
    )
    for p in ("a/b", "x:y", "", "ü"):
        spark.sql(f"INSERT INTO t SELECT id, '{p}', DATE '2026-01-01' FROM range(40)")
    spark.sql("INSERT INTO t SELECT id, NULL, NULL FROM range(40)")
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

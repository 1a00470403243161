# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What OPTIMIZE leaves beside the data, and that nobody but us needs to know about it."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files, rows_of, snapshot
from tests.support.optimizing import (
    arrow_rows,
    optimize,
    pa,
    run,
    statement,
    write,
    write_parts,
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "t", rows(0, 90))


def rows(start: int, end: int) -> Any:
    ids = range(start, end)
    return pa.table({"id": pa.array(ids), "x": pa.array([i % 13 for i in ids])})


def state_names(table: Path) -> list[str]:
    return [path.name for path in (table / "_zorder").rglob("*")]


@pytest.mark.not_connect
def test_every_name_is_hidden_and_none_is_a_data_file(spark: SparkSession, table: Path) -> None:
    write(table.parent / "p/p=1/q=a%2Fb/x.parquet", rows(0, 50))
    for directory in (table, table.parent / "p"):
        for columns in (["id", "x"], ["x"]):
            optimize(spark, directory, columns)
        names = state_names(directory)
        assert names
        assert [n for n in names if not n.startswith("_") or n.endswith(".parquet")] == []


@pytest.mark.not_connect
def test_globs_of_other_engines_find_only_live_files(spark: SparkSession, table: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    dataset: Any = pytest.importorskip("pyarrow.dataset")
    optimize(spark, table, ["id", "x"])
    optimize(spark, table, ["x"])
    for pattern in ("*", "**", "**/*", "*.parquet", "**/*.parquet"):
        try:
            found = duckdb.sql(f"SELECT count(*), sum(id) FROM read_parquet('{table}/{pattern}')")
            assert found.fetchall() == [(90, sum(range(90)))]
        except duckdb.Error as error:
            assert pattern.endswith("*")  # DuckDB reads _README there, and says that it is none
            assert "_zorder" in str(error)  # noqa: PT017
    assert dataset.dataset(table, format="parquet").count_rows() == 90
    inside = spark.read.parquet(f"{table}/*.parquet")
    assert inside.count() == 90


def test_appending_between_two_runs(spark: SparkSession, table: Path) -> None:
    optimize(spark, table, ["id", "x"], targetFileSize="1k")
    first = set(data_files(table))
    write(table / "appended.parquet", rows(90, 200))
    spark.range(200, 260).selectExpr("id", "id % 13 AS x").write.mode("append").parquet(str(table))
    before = arrow_rows(table)
    assert sum(before.values()) == 260
    result = optimize(spark, table, [], targetFileSize="1k")
    assert arrow_rows(table) == before
    if result.columns:  # the columns of the layout are kept
        assert [c.name for c in result.columns] == ["id", "x"]
    # what was laid out already may stay
    assert not {f for f in set(data_files(table)) - first if "appended" in f.name}
    assert result.metrics.numFilesRemoved >= 2
    assert rows_of(spark.read.parquet(str(table))).total() == 260
    commits = {p.name for p in (table / "_zorder/_commits").iterdir()}
    assert {"_1", "_1_done", "_2", "_2_done"} <= commits


@pytest.mark.not_connect
def test_the_record_says_what_lies_where(spark: SparkSession, table: Path) -> None:
    old = {file.name: file.read_bytes() for file in data_files(table)}
    result = optimize(spark, table, ["id"])
    record = json.loads((table / "_zorder/_commits/_1").read_text())
    (change,) = record["changes"]
    retained = table / f"_zorder_{record['run']}"
    kept = {r["name"]: (retained / r["retained"]).read_bytes() for r in change["replaced"]}
    assert kept == old
    assert {a["name"] for a in change["added"]} == {file.name for file in data_files(table)}
    assert sum(a["rows"] for a in change["added"]) == 90
    assert result.metrics.retainedBytes == sum(map(len, old.values()))
    assert not list(table.rglob("_zorder_*/_new_*"))


@pytest.mark.not_connect
def test_expired_files_go_and_nothing_else(spark: SparkSession, table: Path) -> None:
    optimize(spark, table, ["id"], retention="0s")
    assert list(table.glob("_zorder_*/_old_0"))
    before = arrow_rows(table)
    optimize(spark, table, ["x"], retention="1h")
    assert arrow_rows(table) == before
    assert len({file.parent for file in table.glob("_zorder_*/_old_*")}) == 1


def test_a_frame_that_was_made_before_sees_the_rows(spark: SparkSession, table: Path) -> None:
    frame = spark.read.parquet(str(table))
    cached = spark.read.parquet(str(table)).where("x = 3").cache()
    assert cached.count() == 7
    before = rows_of(spark.read.parquet(str(table)))
    optimize(spark, table, ["id"])
    assert rows_of(spark.read.parquet(str(table))) == before
    assert cached.count() == 7
    cached.unpersist()
    # planned before the swap: the same rows or an error that says why, never fewer rows
    seen = before
    with contextlib.suppress(Exception):
        seen = rows_of(frame)
    assert seen == before


def test_a_dry_run_and_into_leave_no_state_and_the_copy_has_an_index(
    spark: SparkSession, table: Path
) -> None:
    before = snapshot(table)
    dry = run(spark, statement(table, ["id", "x"]) + " DRY RUN")
    assert dry.dryRun
    assert dry.metrics.numFilesAdded > 0
    spark.sql(statement(table, ["id"]) + f" INTO '{table.parent}/new'").collect()
    assert snapshot(table) == before
    assert not (table / "_zorder").exists()
    copied = [file for file in (table.parent / "new/_zorder").rglob("*") if file.is_file()]
    # the third one is the identity of the index
    others = {file.name for file in copied} - {"_README", "_1"}
    assert len(copied) == 3
    assert all(re.fullmatch(r"_id_[0-9a-f-]{36}", name) for name in others)
    assert arrow_rows(table.parent / "new") == arrow_rows(table)


@pytest.mark.not_connect
def test_into_keeps_folders_as_they_are_named(spark: SparkSession, tmp_path: Path) -> None:
    for n, name in enumerate(["p=1", "p=01", "p=a%2Fb", "p=__HIVE_DEFAULT_PARTITION__"]):
        write(tmp_path / f"t/{name}/a.parquet", rows(n * 100, n * 100 + 40))
    before = snapshot(tmp_path / "t")
    spark.sql(statement(tmp_path / "t", ["id"]) + f" INTO '{tmp_path}/new dir'").collect()
    assert snapshot(tmp_path / "t") == before
    assert arrow_rows(tmp_path / "new dir") == arrow_rows(tmp_path / "t")


@pytest.mark.not_connect
def test_compaction_of_a_table_that_never_had_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "t", rows(0, 100), 7)
    before = arrow_rows(table)
    result = optimize(spark, table)
    assert result.metrics.numFilesRemoved == 7
    assert result.metrics.numFilesAdded == 1
    assert arrow_rows(table) == before
    again = snapshot(table)
    assert "no small files" in optimize(spark, table).reason
    assert snapshot(table) == again


def test_columns_of_the_property(spark: SparkSession, database: str, table: Path) -> None:
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{table}'")
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'x, `id`')")
    assert [c.name for c in optimize(spark, "t").columns] == ["x", "id"]
    # a path and a name of one directory share one state
    assert [c.name for c in optimize(spark, table).columns] == ["x", "id"]


@pytest.mark.not_connect
def test_tables_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no data files" in optimize(spark, tmp_path / "empty").reason
    nothing = rows(0, 1).slice(0, 0)
    table = write(tmp_path / "t/part-0.parquet", nothing).parent
    write(table / "part-1.parquet", nothing)
    before = snapshot(table)
    result = optimize(spark, table, ["id"])
    assert "no rows" in result.reason
    assert {k: v for k, v in snapshot(table).items() if not k.startswith("_zorder")} == before
    write(table / "one.parquet", rows(5, 6))
    assert optimize(spark, table, ["id", "x"]).metrics.numRows == 1
    assert sum(arrow_rows(table).values()) == 1

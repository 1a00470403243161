# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""SHOW SKIPPING FOR and `explain_skipping`: the files that a query would read, and why."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark_zorder import explain_skipping
from tests.support import condition_of, rows_of, snapshot

COLUMNS = [
    *("scan", "table", "files", "filesKept", "predicate", "columns", "used", "filesDropped"),
    "reason",
]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with an index, which the tests of this file only read."""
    path = tmp_path_factory.mktemp("skipping") / "t"
    spark.range(0, 4000, 1, 4).selectExpr(
        "id", "pmod(hash(id), 100) a", "pmod(hash(id, 7), 100) b"
    ).write.parquet(str(path))
    size = sum(f.stat().st_size for f in path.glob("*.parquet")) // 16
    spark.sql(f"OPTIMIZE TABLE '{path}' ZORDER BY (a, b) OPTIONS ('targetFileSize' '{size}')")
    return str(path)


def test_each_conjunct_says_what_it_does(spark: SparkSession, table: str) -> None:
    before = snapshot(Path(table))
    shown = spark.sql(
        f"SHOW SKIPPING FOR SELECT * FROM parquet.`{table}` WHERE a = 5 AND hash(b, id) = 7"
    )
    assert shown.columns == COLUMNS
    used, unused = sorted(
        (r for r in shown.collect() if "=" in r.predicate), key=lambda r: "hash" in r.predicate
    )
    files = len(list(Path(table).glob("*.parquet")))
    assert used.used
    assert used.reason is None
    assert used.files == files
    assert 0 < used.filesKept <= files // 2
    assert used.filesDropped >= files // 2
    assert not unused.used
    assert unused.reason
    assert unused.filesDropped is None
    assert snapshot(Path(table)) == before


def test_a_query_has_the_same_rows_without_it(spark: SparkSession, table: str) -> None:
    def found() -> Counter[Any]:
        return rows_of(spark.read.parquet(table).where("a = 5 AND b < 50"))

    skipping = found()
    assert skipping
    spark.conf.set("spark.zorder.skipping.enabled", "false")
    try:
        assert found() == skipping
    finally:
        spark.conf.unset("spark.zorder.skipping.enabled")


def test_of_a_data_frame(spark: SparkSession, table: str) -> None:
    frame = spark.read.parquet(table).where("a < 10").select("b")
    views = {t.name for t in spark.catalog.listTables()}
    rows = explain_skipping(frame).collect()
    assert {r.scan for r in rows} == {1}
    assert any(r.used and r.columns == ["a"] for r in rows)
    assert {t.name for t in spark.catalog.listTables()} == views


def test_without_an_index_without_a_filter_and_of_other_formats(
    spark: SparkSession, tmp_path: Path
) -> None:
    plain, text = str(tmp_path / "plain"), str(tmp_path / "text")
    spark.range(10).write.parquet(plain)
    spark.range(10).selectExpr("string(id) id").write.csv(text)
    for query, reason in (
        (f"SELECT * FROM parquet.`{plain}` WHERE id = 3", "there is no index"),
        (f"SELECT * FROM parquet.`{plain}`", "no filter on data columns"),
        (f"SELECT * FROM csv.`{text}`", "not a scan of plain Parquet or ORC files"),
    ):
        (row,) = spark.sql(f"SHOW SKIPPING FOR {query}").collect()
        assert reason in row.reason
        assert row.files == row.filesKept > 0
    assert spark.sql("SHOW SKIPPING FOR SELECT 1").collect() == []


def test_what_changes_something_is_refused_and_not_done(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = tmp_path / "never"
    for statement in (
        f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet SELECT 1",
        "CREATE TABLE never_made USING parquet AS SELECT 1 x",
        "DROP TABLE IF EXISTS never_made",
    ):
        with pytest.raises(AnalysisException) as refusal:
            spark.sql(f"SHOW SKIPPING FOR {statement}").collect()
        assert condition_of(refusal.value) == "ZORDER_NOT_A_QUERY"
    assert not target.exists()
    assert not spark.catalog.tableExists("never_made")


@pytest.mark.parametrize("extended", [False, True, "codegen", "cost", "formatted"])
def test_explain_shows_files_and_what_pruned_them(
    spark: SparkSession, table: str, extended: bool | str, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = spark.read.parquet(table).where("a = 5 AND b = 7").select("id")
    frame.explain(extended)
    files = len(list(Path(table).glob("*.parquet")))
    shown = re.search(r"ZOrderFiles: (\d+) of (\d+) \(pruned by (.*?)\)", capsys.readouterr().out)
    assert shown
    kept, total = int(shown[1]), int(shown[2])
    pruned = dict(part.split(": ") for part in shown[3].split(", "))
    assert total == files
    assert set(pruned) <= {"a", "b"}
    assert kept + sum(map(int, pruned.values())) == total
    (row,) = {(r.files, r.filesKept) for r in explain_skipping(frame).collect() if r.used}
    assert row == (total, kept)
    formatted = spark.sql(
        f"EXPLAIN FORMATTED SELECT id FROM parquet.`{table}` WHERE a = 5 AND b = 7"
    ).collect()
    assert shown[0] in formatted[0][0]

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Files that a query skips by the keys of a join, on classic sessions and over Spark Connect."""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

QUERIES = {
    "join": "SELECT f.id FROM fact f JOIN days d ON f.day = d.day WHERE d.month = 0",
    "larger side": (
        "SELECT f.id FROM (SELECT * FROM days WHERE month = 0) d LEFT JOIN fact f ON f.day = d.day"
    ),
    "membership as a value": (
        "SELECT f.id FROM fact f WHERE CASE WHEN f.day IN (SELECT day FROM days WHERE month = 0) "
        "THEN TRUE ELSE FALSE END"
    ),
    "rights": (
        "SELECT f.id FROM fact f JOIN days d ON d.day IS NULL OR f.day = d.day WHERE d.month = 0"
    ),
    "dimension of a dimension": (
        "SELECT f.id FROM fact f JOIN days d ON f.day = d.day "
        "JOIN months m ON d.month = m.month WHERE m.name = 'first'"
    ),
    "membership": (
        "SELECT f.id FROM fact f JOIN days d ON array_contains(array(d.day), f.day) "
        "WHERE d.month = 0"
    ),
    "in": "SELECT id FROM fact WHERE day IN (SELECT day FROM days WHERE month = 0)",
    "scalar": "SELECT id FROM fact WHERE day < (SELECT min(day) FROM days WHERE month = 1)",
}

# each tells which rows of the fact table count, by a node below which Spark pushes no filter
IMPLIED = {
    "cube": (
        "SELECT id FROM (SELECT id, day, count(*) FROM fact GROUP BY CUBE (id, day)) "
        "WHERE day < 100 AND id IS NOT NULL"
    ),
    "list": "SELECT id FROM fact LATERAL VIEW explode(array(day)) e AS x WHERE x < 100",
    "window": (
        "SELECT id FROM (SELECT id, day div 100 m, count(*) OVER (PARTITION BY day div 100) n "
        "FROM fact) WHERE m = 0"
    ),
}


@pytest.fixture(scope="module")
def star(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fact table of which all files but the first hold no Parquet: who opens one, fails."""
    path = tmp_path_factory.mktemp("star")
    spark.range(0, 800, 1, 8).selectExpr("id", "int(id) day").write.parquet(str(path / "fact"))
    spark.range(800).selectExpr("int(id) day", "int(id / 100) month").coalesce(1).write.parquet(
        str(path / "days")
    )
    spark.range(8).selectExpr("int(id) month", "if(id = 0, 'first', 'other') name").coalesce(
        1
    ).write.parquet(str(path / "months"))
    spark.sql(f"CREATE ZORDER INDEX ON '{path / 'fact'}'").collect()
    for file in sorted((path / "fact").glob("*.parquet"))[1:]:
        status = file.stat()
        file.write_bytes(b"x" * status.st_size)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    schema = "id BIGINT, day INT"
    spark.read.schema(schema).parquet(str(path / "fact")).createOrReplaceTempView("fact")
    for name in ("days", "months"):
        spark.read.parquet(str(path / name)).createOrReplaceTempView(name)
    return path


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("query", QUERIES)
def test_only_files_with_keys_are_opened(
    spark: SparkSession, star: Path, query: str, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        rows = spark.sql(QUERIES[query]).collect()
        assert sorted(row.id for row in rows) == list(range(100))
        spark.conf.set("spark.zorder.skipping.dynamic", "false")
        # a classic session passes on Java's error, Spark 3.5 that of the file system
        with pytest.raises(Exception, match=r"FAILED_READ_FILE|ChecksumException"):
            spark.sql(QUERIES[query]).collect()
    finally:
        spark.conf.unset("spark.zorder.skipping.dynamic")
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("query", IMPLIED)
def test_only_files_with_rows_that_count_are_opened(
    spark: SparkSession, star: Path, query: str
) -> None:
    assert sorted(row.id for row in spark.sql(IMPLIED[query]).collect()) == list(range(100))
    spark.conf.set("spark.zorder.skipping.enabled", "false")
    try:
        with pytest.raises(Exception, match=r"FAILED_READ_FILE|ChecksumException"):
            spark.sql(IMPLIED[query]).collect()
    finally:
        spark.conf.unset("spark.zorder.skipping.enabled")


@pytest.mark.parametrize("threshold", ["10m", pytest.param("-1", marks=pytest.mark.slow)])
def test_a_python_function_may_choose_the_rows_of_the_small_side(
    spark: SparkSession, star: Path, threshold: str
) -> None:
    spark.udf.register("is_first", lambda month: month == 0, "boolean")
    # a fact table that is worth a second run of the small side
    wide = f"{star}/wide{threshold}"
    spark.range(0, 8000, 1, 8).selectExpr(
        "int(id / 10) day", "sha2(string(id), 512) a", "sha2(string(-id), 512) b"
    ).write.parquet(wide)
    spark.sql(f"CREATE ZORDER INDEX ON '{wide}'").collect()
    spark.read.parquet(wide).createOrReplaceTempView("wide")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    try:
        query = "SELECT w.day FROM wide w JOIN days d ON w.day = d.day WHERE is_first(d.month)"
        assert spark.sql(query).count() == 1000
        plan = spark.sql(f"EXPLAIN {query}").collect()[0][0]
        assert "ZOrderFilesAtRunTime: by day" in plan
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_the_plan_names_the_columns(spark: SparkSession, star: Path) -> None:
    plan = spark.sql(f"EXPLAIN {QUERIES['join']}").collect()[0][0]
    assert "ZOrderFilesAtRunTime: by day" in plan
    shown = spark.sql(f"SHOW SKIPPING FOR {QUERIES['join']}").collect()
    assert any("keys of a join" in (row.predicate or "") for row in shown)

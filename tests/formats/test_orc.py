# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""OPTIMIZE of ORC tables; pyarrow and Hive are the independent readers."""

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from spark_zorder import ZOrderTable
from tests.support import data_files, hive, optimizing, rows_of, snapshot
from tests.support.optimizing import quoted, refusal, run

pa: Any = pytest.importorskip("pyarrow")
orc: Any = pytest.importorskip("pyarrow.orc")

SEED = 20261122
WORDS = ["", "ä€", "long " * 300, "z", None]


def rows(seed: int, count: int) -> Any:
    """Return random rows as a pyarrow table."""
    own = random.Random(seed)

    def column(make: Any, nulls: float = 0.1) -> list[Any]:
        return [None if own.random() < nulls else make() for _ in range(count)]

    epoch = dt.date(1970, 1, 1)
    doubles = [float("nan"), -0.0, 0.0, float("inf"), 1.5]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "a": pa.array(column(lambda: own.randrange(1000)), pa.int32()),
            "b": pa.array(column(lambda: own.randrange(1000)), pa.int64()),
            "t": pa.array(column(lambda: own.randrange(-128, 128)), pa.int8()),
            "d": pa.array(column(lambda: own.choice(doubles)), pa.float64()),
            "s": pa.array(column(lambda: own.choice(WORDS)), pa.string()),
            "x": pa.array(column(lambda: own.randbytes(5)), pa.binary()),
            "m": pa.array(
                column(lambda: Decimal(own.randrange(10**9)) / 100), pa.decimal128(12, 2)
            ),
            "day": pa.array(
                column(lambda: epoch + dt.timedelta(days=own.randrange(-30000, 30000))),
                pa.date32(),
            ),
            "st": pa.array(column(lambda: {"x": own.randrange(9), "y": "q"})),
            "l": pa.array(column(lambda: [own.randrange(9), None])),
        }
    )


def files(directory: Path) -> list[Path]:
    """Return the data files; files of Hive have no extension."""
    return data_files(directory, "*")


def arrow_rows(directory: Path) -> Counter[str]:
    return optimizing.arrow_rows(directory, orc.ORCFile, "*")


def optimize(spark: SparkSession, directory: Path, rest: str) -> Row:
    return run(spark, f"OPTIMIZE TABLE orc.{quoted(str(directory))} {rest}")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four files in two partitions; as in Hive, the names have no extension."""
    directory = tmp_path / "t"
    for i in range(4):
        path = directory / f"p={i % 2}" / f"data-{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        orc.write_table(rows(SEED + i, 500), path, compression="zlib")
    return directory


@pytest.mark.not_connect
def test_rows_of_another_writer_are_the_same_for_another_reader(
    spark: SparkSession, table: Path
) -> None:
    seen, spark_rows = arrow_rows(table), rows_of(spark.read.orc(str(table)).select("id", "a", "s"))
    types = {str(orc.ORCFile(f).schema.remove_metadata()) for f in files(table)}
    result = optimize(spark, table, "ZORDER BY (a, b) OPTIONS ('verify' 'full')")
    assert result.metrics.numFilesRemoved == 4
    assert arrow_rows(table) == seen, f"seed {SEED}"
    assert rows_of(spark.read.orc(str(table)).select("id", "a", "s")) == spark_rows
    after = files(table)
    assert [f.name.endswith(".zlib.orc") for f in after] == [True] * len(after)
    assert {str(orc.ORCFile(f).schema.remove_metadata()) for f in after} == types
    assert {orc.ORCFile(f).compression for f in after} == {"ZLIB"}
    again = ZOrderTable.forName(spark, f"orc.{quoted(str(table))}")
    assert again.optimize().executeCompaction().first().metrics.numFilesRemoved == 0  # type: ignore[union-attr]
    assert again.toDF().count() == 2000
    again.undo()
    assert arrow_rows(table) == seen
    assert [f.name for f in files(table)] == ["data-0", "data-2", "data-1", "data-3"]


@pytest.mark.not_connect
def test_queries_read_few_files_and_all_rows(spark: SparkSession, table: Path) -> None:
    size = sum(f.stat().st_size for f in files(table)) // 16
    optimize(spark, table, f"ZORDER BY (a, b) OPTIONS ('targetFileSize' '{size}')")
    name = f"orc.{quoted(str(table))}"
    for value in range(0, 1000, 101):
        query = f"SELECT * FROM {name} WHERE a = {value}"
        shown = spark.sql(f"SHOW SKIPPING FOR {query}").collect()
        (used,) = [r for r in shown if r.used and r.predicate == f"(a = {value})"]
        assert used.filesKept < used.files
        expected = sum(
            1
            for f in files(table)
            for v in orc.ORCFile(f).read(columns=["a"]).column("a").to_pylist()
            if v == value
        )
        assert spark.sql(query).count() == expected
    layout = {r.column: r for r in spark.sql(f"SHOW LAYOUT {name}").collect()}
    assert layout["a"].excess < 1.6
    assert layout["a"].rowGroups["count"] >= layout["a"].files


def test_timestamps_of_another_writer_may_have_nanoseconds(
    spark: SparkSession, tmp_path: Path
) -> None:
    at = pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("ns"))
    (tmp_path / "t").mkdir()
    orc.write_table(pa.table({"id": [1, 2], "at": at}), tmp_path / "t" / "x.orc")
    text = f"OPTIMIZE TABLE orc.{quoted(str(tmp_path / 't'))} ZORDER BY (id)"
    refusal(spark, text, tmp_path / "t", "ZORDER_TYPE_NOT_WRITABLE", "`at`", "nanoseconds")


def test_a_bare_path_of_orc_files_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).write.orc(str(tmp_path / "t"))
    text = f"OPTIMIZE TABLE {str(tmp_path / 't')!r} ZORDER BY (id)"
    before = snapshot(tmp_path)
    refusal(spark, text, tmp_path / "t", "ZORDER_UNSUPPORTED_TABLE", "orc.`")
    assert snapshot(tmp_path) == before


HIVE = """
some = '''SELECT /*+ REPARTITION(6) */ id, hash(id) % 100 aB, concat('s', id % 9) s,
  timestamp'1999-12-31 23:59:59' + make_interval(0, 0, 0, 0, id) at,
  cast(id / 7 AS DECIMAL(12, 3)) d, 'c' c'''
columns = "id BIGINT, aB INT, s STRING, at TIMESTAMP, d DECIMAL(12, 3), c CHAR(3)"

spark.sql(f"CREATE TABLE flat ({columns}) STORED AS ORC TBLPROPERTIES ('kept' = 'yes')")
spark.sql(f"INSERT INTO flat {some} FROM range(3000)")
spark.sql("ANALYZE TABLE flat COMPUTE STATISTICS")
sized = f"OPTIONS ('targetFileSize' '{tables.bytes('flat') // 6}')"
result = tables.optimize("flat", f"ZORDER BY (aB, at) {sized}", numFilesRemoved=6)
assert result.metrics.numFilesAdded > 3
assert spark.sql("SHOW TBLPROPERTIES flat ('kept')").first().value == "yes"
described = {r.col_name: r.data_type for r in spark.sql("DESCRIBE EXTENDED flat").collect()}
assert described["Statistics"] == f"{tables.bytes('flat')} bytes, 3000 rows", described
assert spark.sql(f"OPTIMIZE flat {sized}").first().metrics.numFilesRemoved == 0
shown = spark.sql("SHOW SKIPPING FOR SELECT * FROM flat WHERE ab = 7").first()
assert shown.used and shown.filesKept < shown.files, shown
assert spark.sql("SHOW LAYOUT flat FOR (ab, at)").first().excess < 2
spark.sql(f"INSERT INTO flat {some} FROM range(3000, 4000)")
tables.optimize("flat", sized)
spark.sql("UNDO LAYOUT flat").collect()
assert sum(tables.rows("flat").values()) == 4000
assert spark.sql("CREATE IF NOT EXISTS ZORDER INDEX ON flat").first().files > 3

# Hive's writer stores nanoseconds
spark.sql("SET spark.sql.hive.convertMetastoreOrc = false")
spark.sql(f"CREATE TABLE hives ({columns}) STORED AS ORC")
spark.sql(f"INSERT INTO hives {some} FROM range(300)")
spark.sql("SET spark.sql.hive.convertMetastoreOrc = true")
tables.refused("ZORDER_TYPE_NOT_WRITABLE", "OPTIMIZE hives ZORDER BY id", "nanoseconds")
tables.optimize("hives", "ZORDER BY (id) OPTIONS ('allowTypeChange' 'true')", numFilesAdded=1)

spark.sql(f"CREATE DATABASE elsewhere LOCATION '{base}/elsewhere'")
spark.sql(f"CREATE EXTERNAL TABLE elsewhere.out ({columns}) STORED AS ORC LOCATION '{base}/out'")
spark.sql(f"INSERT INTO elsewhere.out {some} FROM range(500)")
tables.optimize("elsewhere.out", "ZORDER BY (s, id)", numFilesRemoved=6, numFilesAdded=1)
assert (base / "out/_zorder/_commits/_1").exists()

spark.sql(f"CREATE TABLE parted ({columns}) PARTITIONED BY (p INT, q STRING) STORED AS ORC")
parts = "cast(id % 3 AS INT) p, concat('q ', id % 2) q"
spark.sql(f"INSERT INTO parted PARTITION (p, q) {some}, {parts} FROM range(3000)")
tables.optimize("parted", "WHERE p = 1 ZORDER BY (ab, id)", partitionsOptimized=2)
spark.sql(f"ALTER TABLE parted ADD PARTITION (p = 7, q = 'far') LOCATION '{base}/far'")
spark.sql(f"INSERT INTO parted PARTITION (p = 7, q = 'far') {some} FROM range(40)")
result = tables.optimize("parted", "FULL ZORDER BY (ab, id)", partitionsOptimized=6)
assert "far" in result.reason, result.reason
tables.refused("ZORDER_PARTITION_OUTSIDE_TABLE", "OPTIMIZE parted WHERE p = 7 ZORDER BY id", "far")
spark.sql("ALTER TABLE parted PARTITION (p = 0, q = 'q 0') "
          "SET SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'")
statement = "OPTIMIZE parted ZORDER BY id"
tables.refused("ZORDER_UNSUPPORTED_TABLE", statement, "p=0", "ParquetHiveSerDe")
"""


@pytest.mark.classic_only
@pytest.mark.slow
def test_tables_in_hive_format(tmp_path: Path) -> None:
    hive.script(tmp_path, "Orc", HIVE)

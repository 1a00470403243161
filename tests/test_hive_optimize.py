"""OPTIMIZE of tables in Hive's format, read by Spark natively and by Hive's own reader."""

from pathlib import Path

import pytest

from tests.support import ROOT, run_python

START = """
from collections import Counter
from pathlib import Path
from pyspark.errors import PySparkException
from tests import hive
from tests.support import condition_of
base = Path({base!r})
spark = hive.session(base)

def rows(table):
    "By Spark's reader and by Hive's, which must agree."
    found = []
    for native in ("true", "false"):
        spark.sql(f"SET spark.sql.hive.convertMetastoreParquet = {{native}}")
        found.append(Counter(spark.table(table).collect()))
    spark.sql("SET spark.sql.hive.convertMetastoreParquet = true")
    assert found[0] == found[1]
    return found[0]

def optimize(table, rest, **metrics):
    before = rows(table)
    result = spark.sql(f"OPTIMIZE {{table}} {{rest}}").first()
    assert rows(table) == before
    for name, value in metrics.items():
        assert result.metrics[name] == value, (table, name, result.metrics)
    return result

def refused(condition, statement, *says):
    try:
        spark.sql(statement).collect()
    except PySparkException as error:
        assert condition_of(error).startswith(condition), error
        assert all(word in str(error) for word in says), error
    else:
        raise AssertionError(statement)

def size(table):
    shown = {{r.col_name: r.data_type for r in spark.sql(f"DESCRIBE EXTENDED {{table}}").collect()}}
    return shown.get("Statistics")
"""

# a column that the catalog keeps in small letters, INT96 timestamps, a decimal
ROWS = """
some = '''SELECT /*+ REPARTITION(6) */ id, hash(id) % 100 aB, concat('s', id % 9) s,
  timestamp'1899-12-31 23:59:59' + make_interval(0, 0, 0, 0, id) at,
  cast(id / 7 AS DECIMAL(12, 3)) d'''
columns = "id BIGINT, aB INT, s STRING, at TIMESTAMP, d DECIMAL(12, 3)"
"""


def script(base: Path, body: str) -> None:
    text = START.format(base=str(base)) + ROWS + body + "\nspark.stop()\nprint('done')\n"
    done = run_python(text, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == "done"


FLAT = """
spark.sql(f"CREATE TABLE flat ({columns}) STORED AS PARQUET TBLPROPERTIES ('kept' = 'yes')")
spark.sql(f"INSERT INTO flat {some} FROM range(3000)")
spark.sql("ANALYZE TABLE flat COMPUTE STATISTICS FOR COLUMNS id")
old = size("flat")
assert old.endswith("3000 rows")
result = optimize("flat", "ZORDER BY (aB, id) OPTIONS ('targetFileSize' '8k')", numFilesRemoved=6)
assert result.metrics.numFilesAdded > 3
# the same rows in another number of bytes
files = [f for f in (base / "warehouse/flat").iterdir() if f.is_file() and f.name[0] not in "._"]
assert size("flat") == f"{sum(f.stat().st_size for f in files)} bytes, 3000 rows", size("flat")
assert spark.sql("SHOW TBLPROPERTIES flat ('kept')").first().value == "yes"
# Hive's own readers know no other timestamps than INT96, which have no min and max
refused("ZORDER_COLUMN_NOT_ORDERABLE", "OPTIMIZE flat ZORDER BY at", "INT96")
assert spark.sql("OPTIMIZE flat ZORDER BY (aB, id) OPTIONS ('targetFileSize' '8k')").first() \\
    .metrics.numFilesRemoved == 0
spark.sql(f"INSERT INTO flat {some} FROM range(3000, 4000)")
optimize("flat", "OPTIONS ('targetFileSize' '8k')")
spark.sql("UNDO LAYOUT flat").collect()
assert sum(rows("flat").values()) == 4000
shown = spark.sql("SHOW LAYOUT flat").collect()
assert shown

# external, in a database of its own place
spark.sql(f"CREATE DATABASE elsewhere LOCATION '{base}/elsewhere'")
spark.sql(f"CREATE EXTERNAL TABLE elsewhere.out ({columns}) STORED AS PARQUET"
          f" LOCATION '{base}/out'")
spark.sql(f"INSERT INTO elsewhere.out {some} FROM range(500)")
optimize("elsewhere.out", "ZORDER BY (s, id)", numFilesRemoved=6, numFilesAdded=1)
assert (base / "out/_zorder/_commits/_1").exists()

spark.sql("CREATE VIEW seen AS SELECT * FROM flat")
refused("EXPECT_TABLE_NOT_VIEW", "OPTIMIZE seen ZORDER BY id", "seen")
spark.sql("CREATE TEMPORARY VIEW passing AS SELECT * FROM flat")
refused("EXPECT_TABLE_NOT_VIEW", "OPTIMIZE passing ZORDER BY id", "passing")
spark.sql("CREATE TABLE lines (id BIGINT) STORED AS TEXTFILE")
refused("ZORDER_UNSUPPORTED_TABLE", "OPTIMIZE lines ZORDER BY id", "lines")
"""

PARTED = """
spark.sql(f"CREATE TABLE parted ({columns}) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET")
parts = "cast(id % 3 AS INT) p, concat('q ', id % 2) q"
spark.sql(f"INSERT INTO parted PARTITION (p, q) {some}, {parts} FROM range(3000)")
spark.sql("ANALYZE TABLE parted PARTITION (p, q) COMPUTE STATISTICS")
result = optimize("parted", "WHERE p = 1 ZORDER BY (ab, id)", partitionsOptimized=2)
shown = spark.sql("DESCRIBE EXTENDED parted PARTITION (p = 1, q = 'q 0')").collect()
(stats,) = [r.data_type for r in shown if r.col_name == "Partition Statistics"]
folder = base / "warehouse/parted/p=1/q=q 0"
files = [f for f in folder.iterdir() if f.is_file() and f.name[0] not in "._"]
assert stats == f"{sum(f.stat().st_size for f in files)} bytes, 500 rows", stats

# a partition with a location of its own is left out, or refused when it is named
spark.sql(f"ALTER TABLE parted ADD PARTITION (p = 7, q = 'far') LOCATION '{base}/far'")
spark.sql(f"INSERT INTO parted PARTITION (p = 7, q = 'far') {some} FROM range(40)")
result = optimize("parted", "FULL ZORDER BY (ab, id)", partitionsOptimized=6)
assert "far" in result.reason, result.reason
refused("ZORDER_PARTITION_OUTSIDE_TABLE", "OPTIMIZE parted WHERE p = 7 ZORDER BY id", "far")

# partitions may have formats of their own
spark.sql("ALTER TABLE parted PARTITION (p = 0, q = 'q 0') "
          "SET SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'")
refused("ZORDER_UNSUPPORTED_TABLE", "OPTIMIZE parted ZORDER BY id", "p=0", "LazySimpleSerDe")
"""


@pytest.mark.parametrize("body", [FLAT, PARTED], ids=["flat", "partitioned"])
def test_optimize_of_tables_in_hive_format(tmp_path: Path, body: str) -> None:
    script(tmp_path, body)

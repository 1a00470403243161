# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""OPTIMIZE of tables in Hive's format; Spark's reader and Hive's reader compare the rows."""

from pathlib import Path

import pytest

from tests.support import hive

pytestmark = pytest.mark.slow

# the size of a table in DESCRIBE
SIZE = """
def size(table):
    shown = {r.col_name: r.data_type for r in spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    return shown.get("Statistics")
"""

# a column that the catalog stores in lower case, INT96 timestamps, a decimal
ROWS = """
some = '''SELECT /*+ REPARTITION(6) */ id, hash(id) % 100 aB, concat('s', id % 9) s,
  timestamp'1899-12-31 23:59:59' + make_interval(0, 0, 0, 0, id) at,
  cast(id / 7 AS DECIMAL(12, 3)) d'''
columns = "id BIGINT, aB INT, s STRING, at TIMESTAMP, d DECIMAL(12, 3)"
"""


FLAT = """
spark.sql(f"CREATE TABLE flat ({columns}) STORED AS PARQUET TBLPROPERTIES ('kept' = 'yes')")
spark.sql("ALTER TABLE flat SET SERDEPROPERTIES ('kept.serde' = 'yes')")
spark.sql(f"INSERT INTO flat {some} FROM range(3000)")
spark.sql("ANALYZE TABLE flat COMPUTE STATISTICS FOR COLUMNS id")
old = size("flat")
assert old.endswith("3000 rows")
sized = "OPTIONS ('targetFileSize' '8k')"
result = tables.optimize("flat", f"ZORDER BY (aB, id) {sized}", numFilesRemoved=6)
assert result.metrics.numFilesAdded > 3
# the same rows, with other file sizes
assert size("flat") == f"{tables.bytes('flat')} bytes, 3000 rows", size("flat")
assert spark.sql("SHOW TBLPROPERTIES flat ('kept')").first().value == "yes"
assert "kept.serde=yes" in str(spark.sql("DESCRIBE EXTENDED flat").collect())
# Hive reads only INT96 timestamps, which have no min and max
tables.refused("ZORDER_COLUMN_NOT_ORDERABLE", "OPTIMIZE flat ZORDER BY at", "INT96")
by_path = f"OPTIMIZE '{base}/warehouse/flat' ZORDER BY at"
tables.refused("ZORDER_COLUMN_NOT_ORDERABLE", by_path, "INT96")
assert spark.sql(f"OPTIMIZE flat ZORDER BY (aB, id) {sized}").first().metrics.numFilesRemoved == 0
spark.sql(f"INSERT INTO flat {some} FROM range(3000, 4000)")
tables.optimize("flat", sized)
spark.sql("UNDO LAYOUT flat").collect()
assert sum(tables.rows("flat").values()) == 4000
shown = spark.sql("SHOW LAYOUT flat").collect()
assert shown

# the session reads such tables with Hive's reader
spark.sql("SET spark.sql.hive.convertMetastoreParquet = false")
before = Counter(spark.table("flat").collect())
(result,) = spark.sql(f"OPTIMIZE flat FULL ZORDER BY (aB, id) {sized}").collect()
assert result.metrics.numRows == 4000
assert Counter(spark.table("flat").collect()) == before
spark.sql("SET spark.sql.hive.convertMetastoreParquet = true")
assert tables.rows("flat") == before

# an external table, in a database with its own location
spark.sql(f"CREATE DATABASE elsewhere LOCATION '{base}/elsewhere'")
spark.sql(f"CREATE EXTERNAL TABLE elsewhere.out ({columns}) STORED AS PARQUET"
          f" LOCATION '{base}/out'")
spark.sql(f"INSERT INTO elsewhere.out {some} FROM range(500)")
tables.optimize("elsewhere.out", "ZORDER BY (s, id)", numFilesRemoved=6, numFilesAdded=1)
assert (base / "out/_zorder/_commits/_1").exists()

spark.sql("CREATE VIEW seen AS SELECT * FROM flat")
# Spark 3.5 has the message without an error condition
view = "EXPECT_TABLE_NOT_VIEW" if spark.version >= "4" else "_LEGACY_ERROR_TEMP_1013"
tables.refused(view, "OPTIMIZE seen ZORDER BY id", "seen")
spark.sql("CREATE TEMPORARY VIEW passing AS SELECT * FROM flat")
tables.refused(view, "OPTIMIZE passing ZORDER BY id", "passing")
spark.sql("CREATE TABLE lines (id BIGINT) STORED AS TEXTFILE")
tables.refused("ZORDER_UNSUPPORTED_TABLE", "OPTIMIZE lines ZORDER BY id", "lines")
"""

PARTED = """
spark.sql(f"CREATE TABLE parted ({columns}) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET")
parts = "cast(id % 3 AS INT) p, concat('q ', id % 2) q"
spark.sql(f"INSERT INTO parted PARTITION (p, q) {some}, {parts} FROM range(3000)")
spark.sql("ANALYZE TABLE parted PARTITION (p, q) COMPUTE STATISTICS")
result = tables.optimize("parted", "WHERE p = 1 ZORDER BY (ab, id)", partitionsOptimized=2)
shown = spark.sql("DESCRIBE EXTENDED parted PARTITION (p = 1, q = 'q 0')").collect()
(stats,) = [r.data_type for r in shown if r.col_name == "Partition Statistics"]
assert stats == f"{tables.bytes('parted/p=1/q=q 0')} bytes, 500 rows", stats

# a partition with its own location is left out, or refused if WHERE selects it
spark.sql(f"ALTER TABLE parted ADD PARTITION (p = 7, q = 'far') LOCATION '{base}/far'")
spark.sql(f"INSERT INTO parted PARTITION (p = 7, q = 'far') {some} FROM range(40)")
result = tables.optimize("parted", "FULL ZORDER BY (ab, id)", partitionsOptimized=6)
assert "far" in result.reason, result.reason
tables.refused("ZORDER_PARTITION_OUTSIDE_TABLE", "OPTIMIZE parted WHERE p = 7 ZORDER BY id", "far")

# partitions can have different formats
spark.sql("ALTER TABLE parted PARTITION (p = 0, q = 'q 0') "
          "SET SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'")
tables.refused("ZORDER_UNSUPPORTED_TABLE", "OPTIMIZE parted ZORDER BY id", "p=0", "LazySimpleSerDe")
"""


@pytest.mark.parametrize("body", [FLAT, PARTED], ids=["flat", "partitioned"])
def test_optimize_of_tables_in_hive_format(tmp_path: Path, body: str) -> None:
    hive.script(tmp_path, "Parquet", SIZE + ROWS + body)

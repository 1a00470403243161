# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Tables in Hive's format that Spark reads natively, in a session with Hive's catalog."""

from pathlib import Path

import pytest

from tests.support import ROOT, run_python
from tests.support.neighbours import DELTA

pytestmark = pytest.mark.slow

USE = """
from pathlib import Path
from tests.support import hive

spark = hive.session(Path({base!r}), {more!r})

def rows(query):
    return sorted(spark.sql(query).collect())

def explained(query):
    return spark.sql(f"EXPLAIN {{query}}").first()[0]

# the catalog stores the name of this column in lower case, the files do not
parts = "SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, id % 7 aB"
spark.sql("CREATE TABLE plain (id BIGINT, aB BIGINT) STORED AS PARQUET")
spark.sql(f"INSERT INTO plain {{parts}} FROM range(1000)")
spark.sql("CREATE TABLE parted (id BIGINT, aB BIGINT) PARTITIONED BY (p BIGINT) STORED AS PARQUET")
spark.sql(f"INSERT INTO parted PARTITION (p) {{parts}}, id % 2 p FROM range(1000)")

for table, where, total in (
    ("plain", "id = 700", 4),
    ("parted", "id = 700", 8),
    ("parted", "p = 0 AND id = 700", 4),
):
    spark.sql(f"CREATE IF NOT EXISTS ZORDER INDEX ON {{table}}").collect()
    query = f"SELECT id, ab FROM {{table}} WHERE {{where}}"
    skipped = spark.sql(f"SHOW SKIPPING FOR {{query}}").collect()
    (row,) = {{(r.files, r.filesKept) for r in skipped if r.used}}
    assert row[0] == total and row[1] < total, (table, where, row)
    plan = explained(query)
    assert "FileScan parquet" in plan, plan
    # without a filter on partitions, Spark lists the table when the query runs
    if table == "plain" or "p =" in where:
        assert f"ZOrderFiles: {{row[1]}} of {{row[0]}} (pruned by id: " in plan, plan
    assert rows(query) == [(700, 0)]
    nothing = f"SELECT * FROM {{table}} WHERE ab = 50"
    assert rows(nothing) == []

# skipping has no effect on Hive's reader and on other formats of Hive
spark.sql("SET spark.sql.hive.convertMetastoreParquet = false")
query = "SELECT id FROM plain WHERE id = 700"
assert "ZOrderFiles" not in explained(query) and rows(query) == [(700,)]
spark.sql("SET spark.sql.hive.convertMetastoreParquet = true")
spark.sql("CREATE TABLE lines (id BIGINT) STORED AS TEXTFILE")
spark.sql("INSERT INTO lines SELECT id FROM range(3)")
assert rows("SELECT id FROM lines WHERE id = 1") == [(1,)]

# rows that were added after the index, then with a new index
spark.sql("INSERT INTO plain SELECT id + 5000, 3 FROM range(10)")
assert rows("SELECT id FROM plain WHERE id = 5003") == [(5003,)]
spark.sql("REFRESH ZORDER INDEX ON plain").collect()
assert rows("SELECT id FROM plain WHERE id = 5003") == [(5003,)]

# an append goes on where the declared order names a column that is gone, by either way
spark.sql("CREATE TABLE ordered (a INT, b INT) STORED AS PARQUET SORT BY ZORDER (a, b)")
spark.sql("ALTER TABLE ordered SET TBLPROPERTIES ('zorder.columns' = 'a, gone')")
spark.sql("INSERT INTO ordered VALUES (1, 2)")
spark.sql("SELECT 3 a, 4 b").write.format("hive").mode("append").saveAsTable("ordered")
assert rows("SELECT * FROM ordered") == [(1, 2), (3, 4)]
spark.stop()
print("done")
"""


@pytest.mark.parametrize("beside", ["nothing", "Delta first", "Delta last"])
def test_tables_of_hive_are_skipped_in_too(tmp_path: Path, beside: str) -> None:
    more = {}
    if beside != "nothing":
        more = DELTA.jars_and_settings(ours_is_outermost=beside == "Delta first")
    done = run_python(USE.format(base=str(tmp_path), more=more), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "done"

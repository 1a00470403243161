# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The index of values of tables in Hive's format."""

from pathlib import Path

import pytest

from tests.support import hive

pytestmark = pytest.mark.slow

# the catalog stores the name of the column in lower case, the files do not
VALUES = """
spark.sql("CREATE TABLE v (id BIGINT, uU STRING) PARTITIONED BY (p BIGINT) STORED AS FORMAT")
def insert(start, end):
    spark.sql(
        "INSERT INTO v PARTITION (p) SELECT /*+ REPARTITION(4) */ id, md5(cast(id AS string)) uU, "
        f"id % 2 p FROM range({start}, {end})"
    )

def values(statement):
    (row,) = spark.sql(statement).collect()
    return [(v.column, v.filesUncovered) for v in row["values"]]

def kept(where):
    shown = spark.sql(f"SHOW SKIPPING FOR SELECT * FROM v WHERE {where}").collect()
    return {row.filesKept for row in shown}

def check(ids):
    for i in ids:
        assert kept(f"uu = md5('{i}')") == {1}, i
        rows = spark.sql(f"SELECT id, p FROM v WHERE uU = md5('{i}')").collect()
        assert rows == [(i, i % 2)], rows
    assert kept("uu = 'nobody'") == {0}

insert(0, 400)
assert values("CREATE ZORDER INDEX ON v OPTIONS ('values' 'uu')") == [("uu", 0)]
check(range(0, 400, 57))
insert(400, 500)
assert len(kept("uu = md5('7')")) == 1 and kept("uu = md5('7')") != {1}
assert values("REFRESH ZORDER INDEX ON v") == [("uu", 0)]
check(range(0, 500, 57))
tables.optimize("v", "ZORDER BY (id) OPTIONS ('targetFileSize' '2k')")
check(range(0, 500, 57))
"""


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_values_are_looked_up(tmp_path: Path, name: str) -> None:
    hive.script(tmp_path, name.capitalize(), VALUES.replace("FORMAT", name))

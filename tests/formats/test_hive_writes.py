# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Writes in a declared order into tables in Hive's format, by Spark's writer and by Hive's."""

from pathlib import Path

import pytest

from tests.support import hive

pytestmark = pytest.mark.slow

WRITES = """
def lexical(table):
    folder = Path(spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Location'")
                  .first().data_type.removeprefix("file:"))
    files = [f for f in folder.rglob("*") if f.is_file() and f.name[0] not in "._"]
    assert files
    for file in files:
        rows = spark.read.format("FORMAT").load(str(file)).coalesce(1).select("a", "b").collect()
        assert rows == sorted(rows), file
    return len(files)

some = ("SELECT hash(id) % 50 a, hash(id, 1) % 50 b, id v, concat('p', id % 3) p "
        "FROM range(0, 600, 1, 2)")
for converted in ("true", "false"):
    spark.sql(f"SET spark.sql.hive.convertMetastoreCONVERT = {converted}")
    for clause in ("", "PARTITIONED BY (p STRING)"):
        columns = "a INT, b INT, v BIGINT" + ("" if clause else ", p STRING")
        spark.sql(f"CREATE TABLE w ({columns}) {clause} SORT BY LEXICAL (a, b) STORED AS FORMAT")
        spark.sql("SET hive.exec.dynamic.partition.mode = nonstrict")
        spark.sql(f"INSERT INTO w {some}")
        spark.sql(f"INSERT INTO w {some}")
        assert lexical("w") >= 2
        spark.sql(f"INSERT OVERWRITE w {some}")
        assert lexical("w") >= 1
        assert spark.table("w").count() == 600
        if clause:
            spark.sql("INSERT INTO w PARTITION (p = 'q') SELECT a, b, v FROM w")
            lexical("w")
            assert spark.table("w").count() == 1200
        spark.sql("DROP TABLE w")
    spark.sql(f"CREATE TABLE w STORED AS FORMAT SORT BY ZORDER (a) AS {some}")
    assert spark.sql("SHOW TBLPROPERTIES w ('sort.columns')").first().value == "a"
    assert spark.table("w").count() == 600
    spark.sql("DROP TABLE w")
spark.sql("CREATE TABLE lines (a INT) STORED AS TEXTFILE")
tables.refused("ZORDER_SORT_BY_UNSUPPORTED", "ALTER TABLE lines SORT BY (a)", "lines")
"""


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_writes_in_order(tmp_path: Path, name: str) -> None:
    script = WRITES.replace("FORMAT", name).replace("CONVERT", name.capitalize())
    hive.script(tmp_path, name.capitalize(), script)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Sessions that also have Iceberg: both orders of extensions, both kinds of its catalog."""

from pathlib import Path

import pytest

from tests.support import neighbours

pytestmark = pytest.mark.slow

SCRIPT = """
import re
from spark_zorder import ZOrderTable
rows = spark.range(0, 2000, 1, 8).selectExpr(
    "id", "pmod(hash(id), 100) a", "pmod(hash(id, 7), 100) b", "id % 2 p")
rows.createOrReplaceTempView("numbers")
before = Counter(rows.collect())

# statements on plain tables are ours, in both spellings
rows.write.parquet(f"{folder}/plain")
spark.sql("CREATE TABLE plain USING parquet AS SELECT * FROM numbers")
spark.sql("CREATE TABLE parts USING parquet PARTITIONED BY (p) AS SELECT * FROM numbers")
for target in ["plain", "spark_catalog.default.parts", f"'{folder}/plain'"]:
    for word in ["OPTIMIZE", "OPTIMIZE TABLE"]:
        (row,) = spark.sql(f"{word} {target} FULL ZORDER BY (a, b)").collect()
        answers[f"{word} {target}".replace(str(folder), "")] = row.metrics.numRows
for table in ["plain", "parts", f"parquet.`{folder}/plain`"]:
    found = Counter(spark.table(table).select("id", "a", "b", "p").collect())
    assert found == before, table
shown = spark.sql("SHOW SKIPPING FOR SELECT * FROM plain WHERE a = 5").collect()
assert any(r.used for r in shown), shown

# our layout, by a commit of Iceberg
spark.sql("CREATE TABLE ice.db.own USING iceberg PARTITIONED BY (p) AS SELECT * FROM numbers")
for word in ["OPTIMIZE", "OPTIMIZE TABLE"]:
    table = ZOrderTable.forName(spark, "ice.db.own")
    (row,) = spark.sql(f"{word} ice.db.own FULL ZORDER BY (a, b)").collect()
    answers[word] = [row.metrics.numRows, row.metrics.partitionsOptimized]
    assert Counter(spark.table("ice.db.own").collect()) == before
(row,) = table.optimize().executeZOrderBy("a", "b").collect()
answers["again"] = row.metrics.numFilesRemoved
summaries = spark.table("ice.db.own.snapshots").select("operation", "summary").collect()
answers["commits"] = [[r.operation, r.summary.get("zorder-columns")] for r in summaries]

# where Iceberg's tables are left to it, the error names its procedure
spark.sql("SET spark.zorder.formats.iceberg = delegate")
spark.sql("CREATE TABLE lake USING iceberg AS SELECT * FROM numbers")
spark.sql("CREATE TABLE ice.db.`odd name` USING iceberg AS SELECT * FROM numbers")
calls = {}
several = ["ZORDER BY (a, b)", "ZORDER BY a", ""]
filtered = ["WHERE p = 1 ZORDER BY (a, b)"]
for target, asked in [("lake", several), ("ice.db.`odd name`", filtered)]:
    for word in ["OPTIMIZE", "OPTIMIZE TABLE"]:
        for clauses in asked:
            try:
                spark.sql(f"{word} {target} {clauses}")
                raise AssertionError("an Iceberg table was taken for ours")
            except PySparkException as error:
                assert condition_of(error) == "ZORDER_UNSUPPORTED_TABLE", error
                calls[f"{target} {clauses}"] = re.search(r"CALL .*\\)", str(error))[0]
for statement, call in calls.items():
    spark.sql(call).collect()
    answers[statement] = call
for table in ["lake", "ice.db.`odd name`"]:
    assert Counter(spark.table(table).collect()) == before, table
# such a table has nothing of ours but the record of its workload
assert spark.sql("VACUUM LAYOUT lake").collect() == []
for statement in ["UNDO LAYOUT lake", "CREATE ZORDER INDEX ON lake",
                  f"OPTIMIZE '{folder}/ice/db/odd name' ZORDER BY a"]:
    try:
        spark.sql(statement)
        raise AssertionError(statement)
    except PySparkException as error:
        assert condition_of(error) == "ZORDER_UNSUPPORTED_TABLE", error

# our functions order the rows of a write
rows.limit(0).writeTo("ice.db.ordered").using("iceberg").create()
for key in [F.zorder("a", "b"), F.hilbert("a", "b")]:
    rows.repartitionByRange(8, key).sortWithinPartitions(key).writeTo("ice.db.ordered").append()
assert Counter(spark.table("ice.db.ordered").collect()) == before + before
shown = spark.sql("SHOW LAYOUT ice.db.ordered FOR (a, b)").collect()
answers["ordered"] = [(r.files, r.filesPerPointQuery) for r in shown]
"""


@pytest.mark.parametrize("iceberg_is_outermost", [True, False])
def test_each_table_gets_its_own_command(tmp_path: Path, iceberg_is_outermost: bool) -> None:
    answers = neighbours.answers(
        tmp_path, "ICEBERG", SCRIPT, ours_is_outermost=not iceberg_is_outermost
    )
    for target in ("plain", "spark_catalog.default.parts", "'/plain'"):
        assert answers[f"OPTIMIZE {target}"] == 2000
        assert answers[f"OPTIMIZE TABLE {target}"] == 2000
    assert answers["OPTIMIZE"] == answers["OPTIMIZE TABLE"] == [2000, 2]
    assert answers["again"] == 0
    assert answers["commits"] == [["append", None], ["replace", "a, b"], ["replace", "a, b"]]
    assert answers["lake ZORDER BY (a, b)"] == (
        "CALL spark_catalog.system.rewrite_data_files(table => 'default.lake', "
        "strategy => 'sort', sort_order => 'zorder(a, b)')"
    )
    assert answers["ice.db.`odd name` WHERE p = 1 ZORDER BY (a, b)"] == (
        "CALL ice.system.rewrite_data_files(table => 'db.`odd name`', "
        "strategy => 'sort', sort_order => 'zorder(a, b)', where => '(p = CAST(1 AS BIGINT))')"
    )
    for files, reads in answers["ordered"]:
        # two writes of 8 files each; without an order a point query would read almost all of them
        assert files == 16
        assert reads < 12

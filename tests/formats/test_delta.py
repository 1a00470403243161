# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Sessions that also have Delta Lake, in both orders of the extensions."""

from pathlib import Path

import pytest

from tests.support import neighbours

pytestmark = pytest.mark.slow

# returns 'ours' or 'delta' for the extension that ran a statement, or the error condition
SCRIPT = """
rows = spark.range(100).selectExpr("id a", "id % 7 b")
rows.write.saveAsTable("plain", format="parquet")
rows.write.saveAsTable("lake", format="delta")
rows.write.parquet(f"{folder}/plain")
rows.write.format("delta").save(f"{folder}/lake")
for target in ["plain", "lake", f"'{folder}/plain'", f"'{folder}/lake'",
               f"parquet.`{folder}/lake`"]:
    for word in ["OPTIMIZE", "OPTIMIZE TABLE"]:
        try:
            (row,) = spark.sql(f"{word} {target} ZORDER BY (a, b)").collect()
            answer = "ours" if "reason" in row.asDict() else "delta"
        except PySparkException as error:
            answer = condition_of(error)
        answers[f"{word} {target}".replace(str(folder), "")] = answer
spark.sql("SET spark.zorder.formats.delta = delegate")
answers["delegated"] = [
    "ours" if "reason" in spark.sql(f"OPTIMIZE TABLE {t} ZORDER BY (a, b)").columns else "delta"
    for t in ["lake", f"'{folder}/lake'", f"parquet.`{folder}/lake`"]]
tables = ["plain", "lake", f"parquet.`{folder}/plain`", f"delta.`{folder}/lake`"]
answers["rows"] = [spark.table(t).count() for t in tables]

# our functions order the rows of a write
many = spark.range(0, 2000, 1, 8).selectExpr(
    "id", "pmod(hash(id), 100) a", "pmod(hash(id, 7), 100) b")
for mode, key in [("error", F.zorder("a", "b")), ("append", F.hilbert("a", "b"))]:
    ordered = many.repartitionByRange(8, key).sortWithinPartitions(key)
    ordered.write.saveAsTable("ordered", format="delta", mode=mode)
assert sorted(spark.table("ordered").collect()) == sorted(2 * many.collect())
shown = spark.sql("SHOW LAYOUT ordered FOR (a, b)").collect()
answers["ordered"] = [(r.files, r.filesPerPointQuery) for r in shown]
"""


@pytest.mark.parametrize("delta_is_outermost", [True, False])
def test_each_command_gets_its_own_tables(tmp_path: Path, delta_is_outermost: bool) -> None:
    answers = neighbours.answers(
        tmp_path, "DELTA", SCRIPT, ours_is_outermost=not delta_is_outermost
    )
    assert answers["rows"] == [100] * 4
    for files, reads in answers["ordered"]:
        # two writes of 8 files each; without an order a point query would read almost all of them
        assert files == 16
        assert reads < 12
    # with TABLE each statement reaches the right extension in both orders
    assert answers["OPTIMIZE TABLE plain"] == "ours"
    assert answers["OPTIMIZE TABLE '/plain'"] == "ours"
    assert answers["OPTIMIZE TABLE lake"] == "ours"
    assert answers["OPTIMIZE TABLE '/lake'"] == "ours"
    assert answers["OPTIMIZE TABLE parquet.`/lake`"] == "ours"
    # if Delta's parser is the outer one, it takes OPTIMIZE without TABLE
    assert answers["OPTIMIZE plain"] == ("DELTA_ONLY_OPERATION" if delta_is_outermost else "ours")
    assert answers["OPTIMIZE '/plain'"] == (
        "DELTA_TABLE_ONLY_OPERATION" if delta_is_outermost else "ours"
    )
    assert answers["OPTIMIZE lake"] == ("delta" if delta_is_outermost else "ours")
    assert answers["OPTIMIZE '/lake'"] == ("delta" if delta_is_outermost else "ours")
    # a setting leaves the tables to Delta
    assert answers["delegated"] == ["delta"] * 3


OWN = """
from spark_zorder import ZOrderTable
rows = spark.range(0, 2000, 1, 8).selectExpr(
    "id", "pmod(hash(id), 100) a", "pmod(hash(id, 7), 100) b", "id % 2 p")
before = Counter(rows.collect())
rows.write.saveAsTable("lake", format="delta", partitionBy="p")
location = spark.sql("DESCRIBE DETAIL lake").head().location.replace("file:", "")
for target in ["lake", f"'{location}'", f"delta.`{location}`"]:
    (row,) = spark.sql(f"OPTIMIZE TABLE {target} FULL ZORDER BY (a, b)").collect()
    answers[target.replace(location, "/lake")] = row.asDict(True).get("reason", "delta")
    assert Counter(spark.table("lake").select("id", "a", "b", "p").collect()) == before
table = ZOrderTable.forName(spark, "lake")
(row,) = table.optimize().executeZOrderBy("a", "b").collect()
answers["again"] = row.metrics.numFilesRemoved
commits = spark.sql("DESCRIBE HISTORY lake").collect()
answers["commits"] = [[r.operation, r.operationParameters.get("zOrderBy")] for r in commits]
"""


@pytest.mark.parametrize("delta_is_outermost", [True, False])
def test_own_layout_by_a_commit_of_delta(tmp_path: Path, delta_is_outermost: bool) -> None:
    answers = neighbours.answers(tmp_path, "DELTA", OWN, ours_is_outermost=not delta_is_outermost)
    for target in ["lake", "'/lake'", "delta.`/lake`"]:
        assert answers[target] != "delta", target
    assert answers["again"] == 0
    optimize = ["OPTIMIZE", '["a","b"]']
    assert answers["commits"][:3] == [optimize] * 3
    assert [c[0] for c in answers["commits"][3:]] == ["CREATE TABLE AS SELECT"]

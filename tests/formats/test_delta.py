"""Beside Delta Lake, in both orders of the extensions: each command gets its own tables."""

from pathlib import Path

import pytest

from tests.support import neighbours

pytestmark = pytest.mark.slow

# answers 'ours' or 'delta' for who has run a statement, or the condition of the error
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
tables = ["plain", "lake", f"parquet.`{folder}/plain`", f"delta.`{folder}/lake`"]
answers["rows"] = [spark.table(t).count() for t in tables]

# functions in front of writes
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
        # 8 files of each of two writes; without an order a point query reads nearly all
        assert files == 16
        assert reads < 12
    # with TABLE every statement finds its way, whoever is outermost
    assert answers["OPTIMIZE TABLE plain"] == "ours"
    assert answers["OPTIMIZE TABLE '/plain'"] == "ours"
    assert answers["OPTIMIZE TABLE lake"] == "delta"
    assert answers["OPTIMIZE TABLE '/lake'"] == "delta"
    assert answers["OPTIMIZE TABLE parquet.`/lake`"] == "delta"
    assert answers["OPTIMIZE lake"] == "delta"
    assert answers["OPTIMIZE '/lake'"] == "delta"
    # Delta's grammar takes OPTIMIZE without TABLE before we see it
    assert answers["OPTIMIZE plain"] == ("DELTA_ONLY_OPERATION" if delta_is_outermost else "ours")
    assert answers["OPTIMIZE '/plain'"] == (
        "DELTA_TABLE_ONLY_OPERATION" if delta_is_outermost else "ours"
    )

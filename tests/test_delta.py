"""Beside Delta Lake, in both orders of the extensions: each command gets its own tables."""

import json
from pathlib import Path

import pytest

from tests.support import run_python

OURS = "io.sparkzorder.ZOrderExtensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"

# answers 'ours' or 'delta' for who has run a statement, or the condition of the error
SCRIPT = """
import json
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_zorder import configure, functions as F

spark = (
    configure(
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", "io.delta:delta-spark_4.1_2.13:4.4.0")
        .config("spark.sql.extensions", "{extensions}")
        .config("spark.sql.catalog.spark_catalog",
                "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.warehouse.dir", "{folder}/warehouse")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.ui.enabled", "false")
    ).getOrCreate()
)
rows = spark.range(100).selectExpr("id a", "id % 7 b")
rows.write.saveAsTable("plain", format="parquet")
rows.write.saveAsTable("lake", format="delta")
rows.write.parquet("{folder}/plain")
rows.write.format("delta").save("{folder}/lake")
answers = {{}}
for target in ["plain", "lake", "'{folder}/plain'", "'{folder}/lake'", "parquet.`{folder}/lake`"]:
    for word in ["OPTIMIZE", "OPTIMIZE TABLE"]:
        try:
            (row,) = spark.sql(f"{{word}} {{target}} ZORDER BY (a, b)").collect()
            answer = "ours" if "reason" in row.asDict() else "delta"
        except PySparkException as error:
            answer = error.getCondition()
        answers[f"{{word}} {{target}}".replace("{folder}", "")] = answer
tables = ["plain", "lake", "parquet.`{folder}/plain`", "delta.`{folder}/lake`"]
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
print(json.dumps(answers))
"""


@pytest.mark.parametrize("delta_is_outermost", [True, False])
def test_each_command_gets_its_own_tables(tmp_path: Path, delta_is_outermost: bool) -> None:
    # the last extension's parser is the outermost
    order = [OURS, DELTA] if delta_is_outermost else [DELTA, OURS]
    done = run_python(SCRIPT.format(extensions=",".join(order), folder=tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads(done.stdout.strip().splitlines()[-1])
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

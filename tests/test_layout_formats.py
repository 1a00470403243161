"""SHOW LAYOUT of Delta and Iceberg tables: the files that the format says are there, no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import run_python

# answers the rows of SHOW LAYOUT, or the condition of the error, for each target
SCRIPT = """
import json
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_zorder import configure

spark = (
    configure(
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", "{packages}")
        .config("spark.sql.extensions", "{extensions}")
        .config("spark.sql.warehouse.dir", "{folder}/warehouse")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.catalog.spark_catalog", "{session_catalog}")
        .config("spark.sql.catalog.ice", "{other_catalog}")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", "{folder}/ice")
        .config("spark.ui.enabled", "false")
    ).getOrCreate()
)
rows = spark.range(0, 1000, 1, 4).selectExpr("id a", "id % 7 b", "id % 2 p")
{statements}
answers = {{}}
for target in {targets}:
    try:
        shown = spark.sql(f"SHOW LAYOUT {{target}} FOR (a, b)").collect()
        answers[target.replace("{folder}", "")] = [
            dict(
                column=r["column"], files=r.files, rows=r.rows, reads=r.filesPerPointQuery,
                ranges=sorted((f.min, f.max) for f in r.fileRanges), warning=r.warning,
            )
            for r in shown
        ]
    except PySparkException as error:
        answers[target.replace("{folder}", "")] = error.getCondition()
print(json.dumps(answers))
"""

OURS = "io.sparkzorder.ZOrderExtensions"


def answers(tmp_path: Path, **parts: str) -> dict[str, Any]:
    done = run_python(SCRIPT.format(folder=tmp_path, **parts))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def test_delta(tmp_path: Path) -> None:
    """Two of four files are gone by a DELETE, but still lie in the directory."""
    found = answers(
        tmp_path,
        packages="io.delta:delta-spark_4.1_2.13:4.4.0",
        extensions=f"{OURS},io.delta.sql.DeltaSparkSessionExtension",
        session_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        other_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        statements="""
rows.write.saveAsTable("lake", format="delta")
spark.sql("DELETE FROM lake WHERE a >= 500")
rows.write.format("delta").partitionBy("p").save("{folder}/parts")
rows.write.saveAsTable("plain", format="parquet")
""".replace("{folder}", str(tmp_path)),
        targets=repr(["lake", f"'{tmp_path}/parts'", f"parquet.`{tmp_path}/parts`", "plain"]),
    )
    a, b = found["lake"]
    assert (a["files"], a["rows"]) == (2, 500)
    assert a["ranges"] == [["0", "249"], ["250", "499"]]
    assert a["reads"] == 1.0
    assert b["reads"] == 2.0
    for target in ("'/parts'", "parquet.`/parts`"):
        a, b = found[target]
        assert (a["files"], a["rows"]) == (8, 1000)
        assert a["reads"] == pytest.approx(2.0, rel=0.01)
    a, _ = found["plain"]
    assert (a["files"], a["reads"]) == (4, 1.0)


def test_iceberg(tmp_path: Path) -> None:
    """By the metadata table `files`, in a catalog of its own; a bare directory is refused."""
    found = answers(
        tmp_path,
        packages="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        extensions=f"{OURS},org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        session_catalog="org.apache.iceberg.spark.SparkSessionCatalog",
        other_catalog="org.apache.iceberg.spark.SparkCatalog",
        statements="""
rows.writeTo("ice.db.t").create()
spark.sql("DELETE FROM ice.db.t WHERE a >= 500")
rows.createOrReplaceTempView("numbers")
spark.sql("CREATE TABLE ice.db.parts USING iceberg PARTITIONED BY (p) AS SELECT * FROM numbers")
""",
        targets=repr(["ice.db.t", "ice.db.parts", f"'{tmp_path}/ice/db/t'"]),
    )
    a, b = found["ice.db.t"]
    assert (a["files"], a["rows"]) == (2, 500)
    assert a["ranges"] == [["0", "249"], ["250", "499"]]
    assert (a["reads"], b["reads"]) == (1.0, 2.0)
    a, _ = found["ice.db.parts"]
    assert a["rows"] == 1000
    assert found["'/ice/db/t'"] == "ZORDER_UNSUPPORTED_TABLE"

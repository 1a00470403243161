# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The jars of a format and of spark-zorder in two class loaders, each of them the outer one once.

Spark has the jars of `--jars` and `--packages` in a class loader of their own, which sees the class
path of the driver. The class path does not see these jars.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from spark_zorder import _jars
from spark_zorder.session import EXTENSION
from tests.support import JVM_OPTIONS, ROOT, cluster, neighbours, run_python

pytestmark = pytest.mark.slow

OWN = re.compile(r"delta-(spark|storage)|iceberg-")

SCRIPT = """
import json
from collections import Counter
from pyspark.sql import SparkSession
builder = SparkSession.builder.master({master!r})
spark = builder.config(map=json.loads({settings!r})).getOrCreate()
rows = spark.range(0, 40000, 1, 8).selectExpr(
    "id", "pmod(hash(id), 100) a", "pmod(hash(id, 7), 100) b")
before = Counter(rows.collect())
rows.createOrReplaceTempView("numbers")
name, path = {name!r}, {path!r}
spark.sql(f"CREATE TABLE {{name}} USING {format} AS SELECT * FROM numbers")
spark.sql(f"ALTER TABLE {{name}} SET TBLPROPERTIES ('zorder.workload.enabled' = 'true')")
answers = {{"ours": []}}
statement = "FULL ZORDER BY (a, b) OPTIONS ('targetFileSize' '32k', 'batchSize' {batch_size!r})"
for target in [name, f"'{{path}}'"]:
    (row,) = spark.sql(f"OPTIMIZE TABLE {{target}} {{statement}}").collect()
    assert Counter(spark.table(name).collect()) == before
    answers["ours"].append("reason" in row.asDict())
answers["batches"] = row.metrics.numBatches
again = spark.sql(f"OPTIMIZE TABLE {{name}} ZORDER BY (a, b) OPTIONS ('targetFileSize' '32k')")
answers["again"] = again.head().asDict(True).get("metrics", {{}}).get("numFilesRemoved")
# a scan is recorded; those without a filter have no columns
assert spark.table(name).where("a = 5").count() > 0
recorded = spark.sql(f"SHOW WORKLOAD {{name}}").collect()
answers["workload"] = [(r.columns[0][0], r.usable) for r in recorded if r.columns]
(answers["a"], answers["b"]) = [
    r.excess for r in spark.sql(f"SHOW LAYOUT {{name}} FOR (a, b)").collect()]
# the keys of a join prune files when the query runs
keys = spark.sql("SELECT DISTINCT a FROM numbers WHERE b = 7")
expected = spark.table("numbers").join(keys, "a").count()
assert spark.table(name).join(keys.hint("broadcast"), "a").count() == expected
print(json.dumps(answers))
"""


def jars_of(beside: neighbours.Neighbour, folder: Path) -> list[str]:
    """Fetch the jars of a format as files, by the Ivy that comes with Spark."""
    if _jars.pyspark_line() not in beside.packages:
        pytest.skip(f"no release for Spark {_jars.pyspark_line()}")
    (ivy,) = (_jars.spark_home() / "jars").glob("ivy-*.jar")
    java = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else "java"
    module = beside.packages[_jars.pyspark_line()].split(":")
    command = ["-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-confs", "default"]
    pattern = folder / "lib/[artifact]-[revision].[ext]"
    retrieve = ["-dependency", *module, "-retrieve", str(pattern)]
    subprocess.run([str(java), *command, *retrieve], check=True, timeout=300, capture_output=True)
    # older versions of Spark's own libraries must not come before these on the class path
    return sorted(str(jar) for jar in (folder / "lib").glob("*.jar") if OWN.match(jar.name))


def placed(where: str, jars: list[str]) -> dict[str, str]:
    if where == "jars":
        return {"spark.jars": ",".join(jars)}
    path = os.pathsep.join(jars)
    return {"spark.driver.extraClassPath": path, "spark.executor.extraClassPath": path}


def run_beside(
    folder: Path, name: str, places: tuple[str, str], order: list[str], master: str = "local[2]"
) -> dict[str, object]:
    """Run the script with our jar, and the jars of "DELTA" or "ICEBERG", in two places."""
    beside: neighbours.Neighbour = getattr(neighbours, name)
    jars = jars_of(beside, folder)
    settings = {
        **beside.settings,
        **placed(places[0], [str(_jars.find_for_pyspark())]),
        **placed(places[1], jars),
        "spark.sql.extensions": ",".join(order),
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
    }
    is_delta = name == "DELTA"
    script = SCRIPT.format(
        master=master,
        # on executors the table is laid out in two passes
        batch_size="1g" if master.startswith("local[") else "90k",
        settings=json.dumps({k: v.replace("{folder}", str(folder)) for k, v in settings.items()}),
        name="lake" if is_delta else "ice.db.lake",
        path=f"{folder}/warehouse/lake" if is_delta else f"{folder}/ice/db/lake",
        format=name.lower(),
    )
    done = run_python(script, cwd=ROOT, SPARK_HOME=str(cluster.spark_home(folder)))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def check(answers: dict[str, object]) -> None:
    """Check that our OPTIMIZE ran, by the name and by the path, and that the format tells of it."""
    assert answers["ours"] == [True, True]
    assert answers["again"] == 0
    assert answers["workload"] == [["a", True]]
    for column in ("a", "b"):
        excess = answers[column]
        assert isinstance(excess, float)
        assert excess < 1.5, column


ORDERS = [pytest.param(True, id="ours outermost"), pytest.param(False, id="theirs outermost")]
PLACES = [("class path", "jars"), ("jars", "class path")]


@pytest.mark.parametrize("ours_is_outermost", ORDERS)
@pytest.mark.parametrize("places", PLACES, ids="-".join)
@pytest.mark.parametrize("name", ["DELTA", "ICEBERG"])
def test_jars_in_two_class_loaders(
    tmp_path: Path, name: str, places: tuple[str, str], ours_is_outermost: bool
) -> None:
    beside: neighbours.Neighbour = getattr(neighbours, name)
    order = [beside.extension, EXTENSION]
    # the parser of the last extension is the outermost
    order = order if ours_is_outermost else order[::-1]
    check(run_beside(tmp_path, name, places, order))


# Iceberg's table has an object of ours in two passes; all other code that runs in executors is the
# format's own
@pytest.mark.parametrize("name", ["DELTA", "ICEBERG"])
def test_jars_in_two_class_loaders_of_an_executor(tmp_path: Path, name: str) -> None:
    beside: neighbours.Neighbour = getattr(neighbours, name)
    order = [beside.extension, EXTENSION]
    answers = run_beside(tmp_path, name, PLACES[0], order, "local-cluster[1,1,1024]")
    check(answers)
    batches = answers["batches"]
    assert isinstance(batches, int)
    assert batches > 2, batches

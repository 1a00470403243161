# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A session of plain Spark, without the extension; one JVM serves all tests of this file."""

import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support import run_python
from tests.support.optimizing import optimize, points, run, statement, write_parts

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]

PLAIN = """
from pyspark.sql import SparkSession
from spark_zorder import _jars
from spark_zorder import MissingExtensionError, ZOrderTable, check, configure, functions as F
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)

frame = spark.read.parquet({path!r})
assert frame.columns == ["id", "x", "p"], frame.columns
assert (frame.count(), frame.where("id < 10").count()) == (120, 20)
more = spark.range(7).selectExpr("id", "id x", "9 p")
more.write.partitionBy("p").mode("append").parquet({path!r})
assert spark.read.parquet({path!r}).count() == 127
print("read and appended")

def refusal(kind, act):
    try:
        act()
    except kind as error:
        return str(error)
    raise AssertionError(f"{{act}} was not refused")

table = ZOrderTable.forPath(spark, "/nowhere")
assert "spark_zorder.configure" in refusal(MissingExtensionError, table.undo)
optimize = lambda: table.optimize().executeZOrderBy("a")
assert "spark_zorder.configure" in refusal(MissingExtensionError, optimize)
message = refusal(MissingExtensionError, lambda: F.zorder("a", F.col("b")))
jar = _jars.find(_jars.pyspark_line())
assert f"--jars {{jar}} --conf spark.sql.extensions=io.sparkzorder" in message, message
assert not check(spark)
for _ in ("running", "stopped"):
    message = refusal(RuntimeError, lambda: configure(SparkSession.builder))
    assert "before the first session" in message and "--jars" in message
    spark.stop()
print("told how to get the extension")
"""


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("plain") / "t"
    for p in (1, 2):
        write_parts(table / f"p={p}", points())
    optimize(spark, table, ["id", "x"])
    return table


@pytest.fixture(scope="module")
def plain(table: Path) -> "subprocess.CompletedProcess[str]":
    return run_python(PLAIN.format(path=str(table)))


def test_plain_spark_reads_an_optimized_table_and_appends_to_it(
    spark: SparkSession, table: Path, plain: "subprocess.CompletedProcess[str]"
) -> None:
    assert "read and appended" in plain.stdout, plain.stderr[-3000:]
    result = run(spark, statement(table, ["id"], full=True))
    assert result.metrics.numRows == 127


def test_a_session_without_the_extension_is_told_how_to_get_the_extension(
    plain: "subprocess.CompletedProcess[str]",
) -> None:
    assert plain.returncode == 0, plain.stdout + plain.stderr
    assert "told how to get the extension" in plain.stdout

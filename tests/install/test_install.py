# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The commands of docs/install.md and the Scala examples of docs/api.md run unchanged."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_zorder import _jars
from tests.support import ROOT, run
from tests.support.installed import BIN, free_port, serving
from tests.support.pages import Block, blocks

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]

INSTALL, API = ROOT / "docs/install.md", ROOT / "docs/api.md"
SPARK_JARS = _jars.spark_home() / "jars"
ANSWER = "0000000000000006"  # of hex(interleave_bits(1, 2))

JOB = """
from pyspark.sql import SparkSession
from spark_zorder import ZOrderTable
spark = SparkSession.builder.{how}.getOrCreate()
spark.range(1000).selectExpr("id % 37 AS x", "id % 41 AS y").write.parquet("{path}")
(row,) = ZOrderTable.forPath(spark, "{path}").optimize().executeZOrderBy("x", "y").collect()
print("rows", row.metrics.numRows)
print(spark.sql("SELECT hex(interleave_bits(1, 2))").first()[0])
"""


def block(page: Path, language: str, word: str) -> Block:
    (found,) = [b for b in blocks(page) if b.language == language and word in b.code]
    assert not found.is_untested
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a shell in which Spark uses little memory, and its working folder."""
    conf = tmp_path / "conf"
    conf.mkdir()
    settings = ["spark.ui.enabled false", "spark.master local[1]", "spark.driver.memory 1g"]
    (conf / "spark-defaults.conf").write_text("\n".join(settings) + "\n")
    path = f"{BIN}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "SPARK_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable}


def shell(code: str, cwd: Path, environment: dict[str, str]) -> str:
    done = run(["bash", "-euc", code], cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_spark_submit(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "job.py").write_text(JOB.format(how="appName('job')", path=tmp_path / "t"))
    printed = shell(block(INSTALL, "bash", "job.py").code, tmp_path, environment)
    assert printed.split()[-3:] == ["rows", "1000", ANSWER]


def test_spark_sql(tmp_path: Path, environment: dict[str, str]) -> None:
    printed = shell(block(INSTALL, "bash", "spark-sql").code, tmp_path, environment)
    assert ANSWER in printed.split()


def test_spark_defaults(tmp_path: Path, environment: dict[str, str]) -> None:
    """Install by spark-defaults.conf, and run the examples of the API in the Scala shell."""
    lines = block(INSTALL, "properties", "spark.jars").code
    there = re.sub(r"/\S+\.jar", str(_jars.find_for_pyspark()), lines)
    with (tmp_path / "conf/spark-defaults.conf").open("a") as file:
        file.write(there)
    (tmp_path / "example.scala").write_text("\n".join([*scala_examples(), "sys.exit(0)\n"]))
    check_scala(shell("spark-shell -i example.scala < /dev/null", tmp_path, environment), tmp_path)


def scala_examples() -> list[str]:
    examples = [b.code for b in blocks(API) if b.language == "scala" and not b.is_untested]
    assert len(examples) == 2
    return examples


def check_scala(printed: str, folder: Path) -> None:
    assert "error" not in printed
    assert printed.count("only showing top 3 rows") == 3
    assert re.search(r"\|numRows\|\n\+-+\+\n\| +100\|", printed)
    assert re.search(r"\| optimize\|published\|", printed)
    assert (folder / "spark-warehouse/points/_zorder/_commits/_2_done").exists()


@pytest.fixture
def server(tmp_path: Path, environment: dict[str, str]) -> Iterator[int]:
    port = free_port()
    command = block(INSTALL, "bash", "SparkConnectServer").code.replace("15002", str(port))
    with serving(["bash", "-euc", f"exec {command}"], port, tmp_path, environment):
        yield port


def test_a_connect_server_of_its_own(tmp_path: Path, server: int) -> None:
    """The Python client needs no Java: JAVA_HOME is wrong."""
    script = JOB.format(how=f"remote('sc://127.0.0.1:{server}')", path=tmp_path / "t")
    path = shlex.quote(str(BIN))
    done = run([sys.executable, "-c", script], cwd=tmp_path, JAVA_HOME="/nowhere", PATH=path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split()[-3:] == ["rows", "1000", ANSWER]


def test_a_scala_client_of_a_connect_server(
    tmp_path: Path, server: int, environment: dict[str, str]
) -> None:
    """The Scala client has Spark's client and our jar, but neither Catalyst nor the engine."""
    connect = f"""
        import org.apache.spark.sql.SparkSession
        val spark = SparkSession.builder().remote("sc://127.0.0.1:{server}").getOrCreate()
        assert(!util.Try(Class.forName("org.apache.spark.sql.catalyst.expressions.Literal")).isSuccess)
    """
    script = tmp_path / "client.scala"
    script.write_text("\n".join([connect, *scala_examples(), "spark.close()\n"]))
    engine = ("spark-catalyst_", "spark-sql_", "spark-connect_", "spark-hive")
    client = [
        *SPARK_JARS.glob("connect-repl/spark-connect-client-jvm_*.jar"),
        *(jar for jar in SPARK_JARS.glob("*.jar") if not jar.name.startswith(engine)),
        _jars.find_for_pyspark(),
    ]
    # the interpreter of Spark's own shell
    command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    command += ["-cp", ":".join(map(str, client)), "scala.tools.nsc.MainGenericRunner"]
    done = run([*command, "-usejavacp", "-nc", str(script)], cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    check_scala(done.stdout, tmp_path)

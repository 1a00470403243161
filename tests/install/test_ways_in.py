# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Every way into a Spark, through every program that it has; `make test-rows` does it on each row.

Each test starts a JVM of its own, runs OPTIMIZE and a function there, and looks at the files.
"""

from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pyspark
import pytest

from spark_zorder import __version__, _jars
from spark_zorder.session import EXTENSION
from tests.support import ROOT
from tests.support.installed import BIN, JAR, OPTIONS, ROW, Home, free_port

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]

CLIENT = ROOT / ".venv-client/bin/python"
# `make test-rows` publishes the artifacts of `make publish-local` to this repository
REPOSITORY = ROOT / "target/repository"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def python_lines(home: Home) -> str:
    return "\n".join(f"spark.sql({s!r}).show(truncate=False)" for s in home.statements) + "\n"


def scala_lines(home: Home) -> str:
    return "\n".join(f'spark.sql("""{s}""").show(false)' for s in home.statements) + "\n"


def test_spark_sql_with_options(home: Home) -> None:
    home.check(home.run([str(BIN / "spark-sql"), *OPTIONS, "-e", ";".join(home.statements)]))


def test_spark_submit_with_the_jar_alone(home: Home) -> None:
    """Spark finds the extension as a service; Spark 3.5 does so in Scala sessions only."""
    session = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    (home.folder / "job.py").write_text(session + python_lines(home))
    settings = ["--conf", f"spark.jars={JAR}"]
    if ROW is not None and ROW.spark == "3.5":
        settings += ["--conf", f"spark.sql.extensions={EXTENSION}"]
    home.check(home.run([str(BIN / "spark-submit"), *settings, "job.py"]))


def test_pyspark_with_spark_defaults(home: Home) -> None:
    home.add_defaults(f"spark.jars {JAR}\nspark.sql.extensions {EXTENSION}")
    # with -i Python runs the start-up file of the shell, as at a terminal
    home.environment["PYSPARK_DRIVER_PYTHON_OPTS"] = "-i"
    home.check(home.run([str(BIN / "pyspark")], python_lines(home)))


@pytest.fixture
def module() -> str:
    """The module of this Spark's row in the local Maven repository."""
    assert ROW is not None
    name = f"spark-zorder-{ROW.spark}_{ROW.scala}"
    if not (REPOSITORY / "io/sparkzorder" / name).is_dir():
        pytest.skip(f"{name} is not in {REPOSITORY}: make publish-local REPOSITORY={REPOSITORY}")
    return name


def test_what_is_published(module: str) -> None:
    """The POM has all that Maven Central requires, and no dependency that Spark provides."""
    folder = REPOSITORY / "io/sparkzorder" / module / __version__
    jars = [f"{module}-{__version__}{kind}.jar" for kind in ("", "-sources", "-javadoc")]
    assert {file.name for file in folder.glob("*.jar")} == set(jars)
    entries = [set(ZipFile(folder / jar).namelist()) for jar in jars]
    for found, name in zip(
        entries, ["ZOrderTable.class", "ZOrderTable.scala", "ZOrderTable.html"], strict=True
    ):
        assert f"io/sparkzorder/{name}" in found
    pom = ElementTree.parse(folder / f"{module}-{__version__}.pom").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    for element in ("name", "description", "url", "licenses/m:license", "scm/m:url", "developers"):
        assert pom.find(f"m:{element}", space) is not None, element
    scopes = {d.findtext("m:scope", None, space) for d in pom.iterfind(".//m:dependency", space)}
    assert scopes <= {"provided"}


def test_spark_shell_with_packages(home: Home, module: str) -> None:
    """spark-shell takes the jar by coordinates from a local Maven repository."""
    (home.folder / ".m2").mkdir()
    (home.folder / ".m2/repository").symlink_to(REPOSITORY)
    command = [
        str(BIN / "spark-shell"),
        "--driver-java-options",
        f"-Duser.home={home.folder}",
        "--packages",
        f"io.sparkzorder:{module}:{__version__}",
    ]
    home.check(home.run(command, scala_lines(home)))


def test_thrift_server(home: Home) -> None:
    port = free_port()
    where = ["hive.server2.thrift.bind.host=127.0.0.1", f"hive.server2.thrift.port={port}"]
    server = [str(BIN / "spark-submit"), *OPTIONS]
    server += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"]
    server += ["spark-internal", *[word for w in where for word in ("--hiveconf", w)]]
    beeline = [str(BIN / "beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}", "-n", "someone"]
    with home.serving(server, port):
        home.check(home.run([*beeline, *[word for s in home.statements for word in ("-e", s)]]))


CONNECTED = """
import shutil
from pathlib import Path
import pyspark
from pyspark.sql import SparkSession
from spark_zorder import ZOrderTable, check, configure, functions as F

assert shutil.which("java") is None
assert not (Path(pyspark.__file__).parent / "jars").exists()
try:
    configure(SparkSession.builder)
except RuntimeError as error:
    assert "client only" in str(error), error
spark = SparkSession.builder.remote("sc://127.0.0.1:{port}").getOrCreate()
assert check(spark)
spark.sql({create!r})
(row,) = ZOrderTable.forName(spark, "points").optimize().executeZOrderBy("x", "y").collect()
assert row.metrics.numRows == 1000, row
spark.sql({rows!r}).show(truncate=False)
bits = F.concat(F.lit("bits "), F.hex(F.interleave_bits(F.lit(0), F.lit(-1))))
spark.range(1).select(bits).show(truncate=False)
assert spark.table("points").select(F.zorder("x", "y").alias("z")).where("z >= 0").count() == 1000
"""


def connect_server(port: int) -> list[str]:
    server = [str(BIN / "spark-submit"), *OPTIONS]
    if ROW is not None and ROW.spark == "3.5":  # later lines bring the server along
        server += [
            "--packages",
            f"org.apache.spark:spark-connect_{ROW.scala}:{pyspark.__version__}",
        ]
    server += ["--conf", f"spark.connect.grpc.binding.port={port}"]
    return [
        *server,
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def test_connect_server_with_a_client_that_has_no_java(home: Home) -> None:
    if not CLIENT.exists():
        pytest.skip("there is no .venv-client: make test-rows makes it")
    port = free_port()
    create, _, rows, _ = home.statements
    script = CONNECTED.format(port=port, create=create, rows=rows)
    with home.serving(connect_server(port), port):
        home.environment = {
            "PATH": "/nowhere",
            "JAVA_HOME": "/nowhere",
            "PYTHONPATH": str(Path(_jars.__file__).parent.parent),
        }
        home.check(home.run([str(CLIENT), "-c", script]))

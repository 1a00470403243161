# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A server that lives longer than its sessions: sessions open and close around our statements.

Hive closes the class loader of `--jars` when a session of the Thrift server ends (HIVE-22989).
A class of ours that is first needed after that could not be found any more.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.java_gateway import JavaGateway, JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import launch_gateway

from spark_zorder.session import EXTENSION
from tests.install.test_ways_in import connect_server
from tests.support.installed import BIN, JAR, OPTIONS, Home, free_port

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]

EXTENDED = ["--conf", f"spark.sql.extensions={EXTENSION}"]
THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
WAYS = {
    "--jars": ["--jars", str(JAR), *EXTENDED],
    "spark.jars": ["--conf", f"spark.jars={JAR}", *EXTENDED],
    "class path": ["--conf", f"spark.driver.extraClassPath={JAR}", *EXTENDED],
}

MORE = [
    "SHOW LAYOUT points FOR (x, y)",
    "SHOW LAYOUT HISTORY points",
    "REFRESH ZORDER INDEX ON points (x, y)",
    "SELECT count(*) FROM points WHERE x = 5 AND y IN (1, 2)",
    "SELECT count(*) FROM points p JOIN (SELECT 5 AS k) d ON p.x = d.k",
    "SHOW SKIPPING FOR SELECT * FROM points WHERE x = 5",
    "SHOW WORKLOAD points",
    "UNDO LAYOUT points",
    "VACUUM LAYOUT points DRY RUN",
    "CREATE TABLE declared (x INT) USING parquet SORT BY ZORDER (x)",
    "INSERT INTO declared SELECT x FROM points",
    "OPTIMIZE declared FULL ZORDER BY (x)",
    "OPTIMIZE TABLE points ZORDER BY (y, x)",
    "SELECT id, zorder(id, id % 3) AS z FROM range(3)",
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(scope="module")
def jdbc() -> Iterator[JavaGateway]:
    """A JVM with the JDBC driver that comes with Spark."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    yield gateway
    gateway.shutdown()


class Session:
    """One client of a Thrift server."""

    def __init__(self, jdbc: JavaGateway, port: int) -> None:
        url = f"jdbc:hive2://127.0.0.1:{port}"
        # not by DriverManager, which sees the class loader of its caller
        driver = jdbc.jvm.org.apache.hive.jdbc.HiveDriver()
        self.connection: JavaObject = driver.connect(url, jdbc.jvm.java.util.Properties())

    def rows(self, statement: str) -> list[list[str]]:
        executing = self.connection.createStatement()
        found = []
        if executing.execute(statement):
            result = executing.getResultSet()
            width = result.getMetaData().getColumnCount()
            while result.next():
                found.append([result.getString(i + 1) for i in range(width)])
        executing.close()
        return found

    def error(self, statement: str) -> str:
        with pytest.raises(Py4JJavaError) as raised:
            self.rows(statement)
        return str(raised.value.java_exception.getMessage())

    def close(self) -> None:
        self.connection.close()


def thrift_server(port: int, way: list[str]) -> list[str]:
    where = ["hive.server2.thrift.bind.host=127.0.0.1", f"hive.server2.thrift.port={port}"]
    return [
        str(BIN / "spark-submit"),
        *way,
        "--class",
        THRIFT,
        "spark-internal",
        *[word for w in where for word in ("--hiveconf", w)],
    ]


@pytest.mark.parametrize("way", WAYS)
def test_sessions_of_a_thrift_server_come_and_go(home: Home, jdbc: JavaGateway, way: str) -> None:
    port = free_port()
    create, optimize, _, function = home.statements
    with home.serving(thrift_server(port, WAYS[way]), port):
        first = Session(jdbc, port)
        first.rows(create)
        # another client has come and gone before anything of ours was needed
        second = Session(jdbc, port)
        second.rows("SELECT 1")
        second.close()
        for session in (first, Session(jdbc, port)):
            assert session.rows("SELECT count(*) FROM points WHERE x = 5") == [["27"]]
            assert "PARSE_SYNTAX_ERROR" in session.error("SHOW LAYOUT points FOR")
            assert "ZORDER_" in session.error("UNDO LAYOUT points")
            assert session.rows(function) == [["bits 5555555555555555"]]
        third = Session(jdbc, port)
        assert len(third.rows(optimize)) == 1
        third.close()
        fourth = Session(jdbc, port)
        fourth.rows("REFRESH ZORDER INDEX ON points (x, y)")
        assert fourth.rows("SELECT count(*) FROM points WHERE x = 5") == [["27"]]
        fourth.rows("SHOW SKIPPING FOR SELECT * FROM points WHERE x = 5 AND y IN (1, 2)")
        fourth.close()
        assert len(first.rows("SHOW LAYOUT points FOR (x, y)")) == 2
        assert first.rows("SHOW LAYOUT HISTORY points")
        joined = "SELECT count(*) FROM points p JOIN (SELECT 5 AS k) d ON p.x = d.k"
        assert first.rows(joined) == [["27"]]
        first.rows("UNDO LAYOUT points")
        first.rows("VACUUM LAYOUT points DRY RUN")
        first.rows("CREATE TABLE declared (x INT) USING parquet SORT BY ZORDER (x)")
        first.rows("INSERT INTO declared SELECT x FROM points")
        assert first.rows("SELECT count(*) FROM declared") == [["1000"]]


# one process for each client: a session over Connect and a classic one cannot live together
CLIENT = """
import sys
from pyspark.sql import SparkSession
remote = "sc://127.0.0.1:{port}"
first = SparkSession.builder.remote(remote).create()
first.sql({create!r})
for statement in {statements!r}:
    # a session with a file of its own comes and goes before each statement
    other = SparkSession.builder.remote(remote).create()
    other.addArtifacts({artifact!r}, pyfile=True)
    other.sql("SELECT 1").collect()
    other.stop()
    first.sql(statement).show(truncate=False)
try:
    first.sql("OPTIMIZE points ZORDER BY (z)").collect()
    sys.exit("no error")
except Exception as error:
    assert "ZORDER_" in str(error), error
"""


def test_sessions_of_a_connect_server_come_and_go(home: Home) -> None:
    port = free_port()
    create, *statements = home.statements
    artifact = home.folder / "artifact.py"
    artifact.write_text("x = 1")
    script = CLIENT.format(
        port=port, create=create, statements=[*statements, *MORE], artifact=str(artifact)
    )
    with home.serving(connect_server(port), port):
        home.check(home.run([sys.executable, "-c", script]))


# Hive's session closes this loader; here it is closed at once, before anything of ours has run
CLOSED = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
loader = spark._jsparkSession.sessionState().sqlParser().getClass().getClassLoader()
assert "MutableURLClassLoader" in loader.toString(), loader.toString()
loader.close()
for statement in {statements!r}:
    spark.sql(statement).show(truncate=False)
for statement, condition in {errors!r}:
    try:
        spark.sql(statement)
        sys.exit(f"no error: {{statement}}")
    except Exception as error:
        assert condition in str(error), error
"""


def test_a_class_loader_that_was_closed(home: Home) -> None:
    statements = [*home.statements, *MORE]
    errors = [
        ("SHOW LAYOUT points FOR", "PARSE_SYNTAX_ERROR"),
        ("UNDO LAYOUT nowhere", "TABLE_OR_VIEW_NOT_FOUND"),
        ("OPTIMIZE points ZORDER BY (z)", "ZORDER_"),
    ]
    job = home.folder / "job.py"
    job.write_text(CLOSED.format(statements=statements, errors=errors))
    home.check(home.run([str(BIN / "spark-submit"), *OPTIONS, "job.py", THRIFT]))

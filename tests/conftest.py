# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The session that tests run on, and the three ways to run them.

``pytest`` runs everything on a classic session. ``pytest --mode=connect`` runs the tests that take
the fixture `spark` over Spark Connect, and ``pytest --mode=session`` the same tests on a classic
session of whichever Spark the environment has: that is how Spark 3.5 is tested. The two kinds of
session cannot live in one process.
"""

import importlib.util
import os
import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_zorder import __version__, _jars, configure
from tests.support import JVM_OPTIONS, rows

# the environments of other rows lack the packages that benchmarks and pages need
WITH_BENCHMARKS = ["benchmarks", "docs/test_docs.py", "docs/test_experiments.py"]
collect_ignore = [] if importlib.util.find_spec("duckdb") else WITH_BENCHMARKS

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {JVM_OPTIONS}",
    "spark.driver.memory": "2g",
}


def _part(text: str) -> tuple[int, int]:
    part, parts = (int(number) for number in text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(text)
    return part, parts


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mode",
        choices=["classic", "connect", "session"],
        default="classic",
        help="everything on a classic session (default); tests with a session over Spark Connect; "
        "or tests with a session, classic",
    )
    parser.addoption(
        "--part",
        type=_part,
        help="2/4 for the tests of every fourth file from the second on, for a run that has not "
        "the time for all of them",
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if config.getoption("mode") == "connect":
        # the local Connect server then uses a free port instead of a fixed one
        os.environ["SPARK_TESTING"] = "1"


# after -m and -k have chosen
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mode = config.getoption("mode")
    part, parts = config.getoption("part") or (1, 1)
    left_out = {"classic_only"} | ({"not_connect"} if mode == "connect" else set())
    files = sorted({str(item.path) for item in items})

    def is_chosen(item: pytest.Item) -> bool:
        if files.index(str(item.path)) % parts != part - 1:
            return False
        if mode == "classic":
            return True
        return "spark" in getattr(item, "fixturenames", ()) and left_out.isdisjoint(
            mark.name for mark in item.iter_markers()
        )

    chosen = [item for item in items if is_chosen(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(scope="session")
def is_connect(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("mode") == "connect")


@pytest.fixture(scope="session")
def spark(is_connect: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that configure() built, as in the program of a user."""
    builder = SparkSession.builder.appName("spark-zorder tests")
    builder = builder.remote("local[2]") if is_connect else builder.master("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    warehouse = tmp_path_factory.mktemp("warehouse")
    builder = builder.config("spark.sql.warehouse.dir", str(warehouse))
    session = configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def every_row(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation with a jar of each row, as the wheel has them; these jars are empty."""
    folder = tmp_path_factory.mktemp("jars")
    for row in rows.table_of_the_build():
        (folder / f"spark-zorder-{row}-{__version__}.jar").touch()
    monkeypatch.setattr(_jars, "_FOLDER", folder)


@pytest.fixture
def database(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new database for the test, and the current one while the test runs."""
    name = re.sub(r"\W+", "_", request.node.name)
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"USE {name}")
    yield name
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {name} CASCADE")

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Ways to load the extension into a session.

Each test starts a JVM of its own, so these are slow tests. Their cheaper
counterparts: `test_session.py` (the settings that `configure` makes), `test_check.py` and
`test_cli.py` (what `check` prints), and the session that all tests share, which `configure` built.
"""

import sys
from pathlib import Path

import pytest

from spark_zorder import _jars
from spark_zorder._jars import Row
from spark_zorder.session import EXTENSION
from tests.support import run
from tests.support.rows import promised

JAR = str(_jars.find_for_pyspark())
OURS = _jars.row_of(JAR)

USE = """
import sys
from pyspark.sql import SparkSession
from spark_zorder import functions as F
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for setting in sys.argv[1:]:
    builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
value = spark.range(1).select(F.hex(F.interleave_bits(F.lit(0), F.lit(-1)))).first()[0]
assert value == "5555555555555555", value
"""


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            [f"spark.jars={JAR}"],
            id="jar alone, found as a service",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(
                    OURS is not None and OURS.spark == "3.5",
                    reason="Spark 3.5 looks for services only where Scala starts the session",
                ),
            ],
        ),
        pytest.param(
            [f"spark.driver.extraClassPath={JAR}", f"spark.sql.extensions={EXTENSION},{EXTENSION}"],
            id="as a service and twice by name",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_extension_loads(settings: list[str]) -> None:
    done = run([sys.executable, "-c", USE, *settings])
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_check_finds_a_session_of_configure_in_order() -> None:
    installed = Path(sys.executable).parent / "spark-zorder"
    # in environments of other rows the package is not installed
    main = "from spark_zorder.cli import main; raise SystemExit(main())"
    command = [str(installed)] if installed.exists() else [sys.executable, "-c", main]
    done = run([*command, "check"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "extension      loaded"


@pytest.mark.slow
def test_configure_accepts_the_jvm_that_spark_submit_started_with_the_jar(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("""
from pyspark.sql import SparkSession
from spark_zorder import check, configure
assert check(configure(SparkSession.builder).getOrCreate())
""")
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local[1]"]
    done = run([*submit, "--jars", JAR, str(script)], PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr


def wrong_rows() -> list[Row]:
    """Return a row of another Spark with the same Scala, and a row of another Scala."""
    assert OURS is not None
    others = sorted(set(promised()) - {OURS})
    same = [row for row in others if row.scala == OURS.scala]
    different = [row for row in others if row.scala != OURS.scala]
    return same[-1:] + different[:1]


@pytest.mark.slow  # needs the jars of other rows, which `make test` does not build
@pytest.mark.parametrize("row", wrong_rows(), ids=str)
def test_a_jar_of_another_row_stops_the_session_and_names_the_right_one(row: Row) -> None:
    assert OURS is not None
    jar = _jars.find(row.spark, row.scala)
    # in Python, Spark 3.5 does not find the extension as a service
    named = [f"spark.sql.extensions={EXTENSION}"] if OURS.spark == "3.5" else []
    done = run([sys.executable, "-c", USE, f"spark.jars={jar}", *named])
    assert done.returncode != 0
    assert "[ZORDER_WRONG_JAR]" in done.stderr
    assert f"built for Spark {row.spark} and Scala {row.scala}" in done.stderr
    assert f"the session runs Spark {OURS.spark} and Scala {OURS.scala}" in done.stderr
    assert f"io.sparkzorder:spark-zorder-{OURS.spark}_{OURS.scala}" in done.stderr

"""How the extension comes into a session. Each test starts a JVM of its own, so they are few."""

import sys
from pathlib import Path

import pytest

from spark_zorder import _jars
from spark_zorder._jars import Row
from spark_zorder.session import EXTENSION
from tests.rows import promised
from tests.support import run, run_python

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
            marks=pytest.mark.skipif(
                OURS is not None and OURS.spark == "3.5",
                reason="Spark 3.5 looks for services only where Scala starts the session",
            ),
        ),
        pytest.param(
            [f"spark.driver.extraClassPath={JAR}", f"spark.sql.extensions={EXTENSION},{EXTENSION}"],
            id="as a service and twice by name",
        ),
    ],
)
def test_the_extension_loads(settings: list[str]) -> None:
    done = run([sys.executable, "-c", USE, *settings])
    assert done.returncode == 0, done.stderr


def test_check_finds_a_session_of_configure_in_order() -> None:
    installed = Path(sys.executable).parent / "spark-zorder"
    # an environment of another row has not installed the package
    main = "from spark_zorder.cli import main; raise SystemExit(main())"
    command = [str(installed)] if installed.exists() else [sys.executable, "-c", main]
    done = run([*command, "check"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "extension      loaded"


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
    """One jar of another Spark with the same Scala, and one of another Scala."""
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
    # Python on Spark 3.5 does not find it without its name
    named = [f"spark.sql.extensions={EXTENSION}"] if OURS.spark == "3.5" else []
    done = run([sys.executable, "-c", USE, f"spark.jars={jar}", *named])
    assert done.returncode != 0
    assert "[ZORDER_WRONG_JAR]" in done.stderr
    assert f"built for Spark {row.spark} and Scala {row.scala}" in done.stderr
    assert f"the session runs Spark {OURS.spark} and Scala {OURS.scala}" in done.stderr
    assert f"io.sparkzorder:spark-zorder-{OURS.spark}_{OURS.scala}" in done.stderr


def test_a_session_without_the_extension_is_told_how_to_get_it() -> None:
    """One JVM for all that happens without a jar: our statements, and configure() too late."""
    done = run_python("""
from pyspark.sql import SparkSession
from spark_zorder import _jars
from spark_zorder import MissingExtensionError, ZOrderTable, check, configure, functions as F
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

def refusal(kind, act):
    try:
        act()
    except kind as error:
        return str(error)
    raise AssertionError(f"{act} was not refused")

table = ZOrderTable.forPath(spark, "/nowhere")
assert "spark_zorder.configure" in refusal(MissingExtensionError, table.undo)
optimize = lambda: table.optimize().executeZOrderBy("a")
assert "spark_zorder.configure" in refusal(MissingExtensionError, optimize)
message = refusal(MissingExtensionError, lambda: F.zorder("a", F.col("b")))
jar = _jars.find(_jars.pyspark_line())
assert f"--jars {jar} --conf spark.sql.extensions=io.sparkzorder" in message, message
assert not check(spark)
for _ in ("running", "stopped"):
    message = refusal(RuntimeError, lambda: configure(SparkSession.builder))
    assert "before the first session" in message and "--jars" in message
    spark.stop()
""")
    assert done.returncode == 0, done.stdout + done.stderr

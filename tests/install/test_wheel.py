# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The wheel as a user gets it: installed into another environment, used from another folder.

pyspark is not installed a second time, which would only cost time: the new environment looks into
this one's packages. The package itself, its command and its jars come from the wheel.
"""

import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from spark_zorder import __version__
from tests.support import ROOT, run
from tests.support.rows import table_of_the_build

# the wheel holds the jars of all rows, which `make test` does not build
pytestmark = pytest.mark.slow

USE = """
from collections import Counter
import spark_zorder
from spark_zorder import ZOrderTable, configure, functions as F
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = configure(builder).getOrCreate()
points = spark.range(1000).select(F.expr("id % 37 AS x"), F.expr("id % 41 AS y"))
points.repartition(4).write.parquet("points")
result = ZOrderTable.forPath(spark, "points").optimize().executeZOrderBy("x", "y").collect()
assert len(result) == 1, result
assert result[0].metrics.numRows == 1000, result
assert Counter(spark.read.parquet("points").collect()) == Counter(points.collect())
print(spark_zorder.__file__)
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    wheels = list((ROOT / "dist").glob("*.whl"))
    assert len(wheels) == 1, "make the wheel first: make wheel"
    return wheels[0]


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, symlinks=True)
    # the pip of this environment: a second pip would take time to install
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder)]
    done = run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)])
    assert done.returncode == 0, done.stderr
    return folder / "bin/python"


def test_the_wheel_holds_the_package_the_license_and_every_jar(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    jars = {name for name in names if name.endswith(".jar")}
    rows = table_of_the_build()
    assert jars == {f"spark_zorder/jars/spark-zorder-{row}-{__version__}.jar" for row in rows}
    assert {"spark_zorder/py.typed", "spark_zorder/functions.py"} <= set(names)
    licenses = f"spark_zorder-{__version__}.dist-info/licenses"
    assert {f"{licenses}/LICENSE", f"{licenses}/NOTICE"} <= set(names)
    assert wheel.name == f"spark_zorder-{__version__}-py3-none-any.whl"


def test_the_command_works_before_pyspark_is_there(python: Path, tmp_path: Path) -> None:
    command = [str(python.parent / "spark-zorder"), "jar", "--spark", "4.1"]
    done = run(command, cwd=tmp_path, PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    jar = Path(done.stdout.strip())
    assert jar.is_file()
    assert python.parent.parent in jar.parents


def test_an_optimize_from_the_wheel(python: Path, tmp_path: Path) -> None:
    (site,) = python.parent.parent.glob("lib/python3*/site-packages")
    # Python sees the packages in a folder that a .pth file names, but not the .pth files in it,
    # so the checkout stays hidden
    (site / "pyspark-from-the-other.pth").write_text(sysconfig.get_paths()["purelib"])
    command = [str(python), "-c", USE]
    done = run(command, cwd=tmp_path, PYTHONPATH="", PYSPARK_PYTHON=str(python))
    assert done.returncode == 0, done.stderr
    assert site in Path(done.stdout.splitlines()[-1]).parents

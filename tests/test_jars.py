import re
import zipfile
from pathlib import Path

import pytest

from spark_zorder import __version__, _jars
from spark_zorder._jars import Row
from tests.support import ROOT


def rows_of_the_build() -> dict[str, str]:
    """Spark version by row, as project/SparkRow.scala has them."""
    table = (ROOT / "project" / "SparkRow.scala").read_text()
    found = re.findall(r'spark = "([\d.]+)",\s+scala = "([\d.]+)"', table)
    return {f"{_jars.line_of(spark)}_{_jars.line_of(scala)}": spark for spark, scala in found}


def test_every_row_of_the_build_has_its_jar() -> None:
    assert {f"{row.spark}_{row.scala}" for row in _jars.shipped()} == set(rows_of_the_build())


def test_the_jars_say_which_row_and_version_they_are() -> None:
    for row, path in _jars.shipped().items():
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode()
        assert f"Spark-ZOrder-Row: {row.spark}_{row.scala}" in manifest.splitlines()
        assert f"Spark-ZOrder-Version: {__version__}" in manifest.splitlines()


def test_the_build_and_the_package_have_one_version() -> None:
    build = (ROOT / "build.sbt").read_text()
    assert re.findall(r'ThisBuild / version := "(.+)"', build) == [__version__]


@pytest.mark.parametrize(
    ("requirements", "row"), [("dev.txt", "4.1_2.13"), ("spark-3.5.txt", "3.5_2.12")]
)
def test_the_environments_have_the_spark_of_their_row(requirements: str, row: str) -> None:
    text = (ROOT / "requirements" / requirements).read_text()
    assert f"pyspark=={rows_of_the_build()[row]}" in text.splitlines()


def test_a_jar_is_found_by_line_and_scala() -> None:
    assert _jars.row_of(_jars.find("4.1").name) == Row("4.1", "2.13")
    assert _jars.row_of(_jars.find("3.5", "2.12").name) == Row("3.5", "2.12")


def test_a_missing_row_names_the_rows_that_there_are() -> None:
    with pytest.raises(LookupError, match=r"Spark 4\.1 with Scala 2\.11\. Supported: Spark 3\.5"):
        _jars.find("4.1", "2.11")


def test_the_scala_of_spark_home_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "scala-library-2.11.8.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(LookupError, match=r"with Scala 2\.11"):
        _jars.find_for_pyspark()


def test_a_checkout_without_jars_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_jars, "_FOLDER", tmp_path)
    with pytest.raises(LookupError, match="make jars"):
        _jars.find("4.1")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("spark-zorder-4.1_2.13-0.1.0.jar", Row("4.1", "2.13")),
        # as Spark names what spark.jars.packages brings
        ("io.sparkzorder_spark-zorder-3.5_2.12-0.2.0-rc1.jar", Row("3.5", "2.12")),
        ("spark-zorder-notes.jar", None),
        ("delta-spark_2.13-4.0.0.jar", None),
    ],
)
def test_a_jar_is_recognised_by_its_name(name: str, row: Row | None) -> None:
    assert _jars.row_of(name) == row

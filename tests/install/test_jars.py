# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

import re
import zipfile
from pathlib import Path

import pyspark
import pytest

from spark_zorder import __version__, _jars
from spark_zorder._jars import Row
from tests.support import ROOT
from tests.support.rows import promised, rows_of_the_build, table_of_the_build

# the version of the class file format, by Java version
CLASS_VERSION = {"8": 52, "17": 61}


def class_versions(jar: zipfile.ZipFile) -> set[int]:
    """Return the major version of every class: two bytes after the magic and minor numbers."""
    names = [name for name in jar.namelist() if name.endswith(".class")]
    assert len(names) > 100
    return {int.from_bytes(jar.read(name)[6:8], "big") for name in names}


def test_every_row_that_is_promised_is_built() -> None:
    assert set(rows_of_the_build()) == {"4.2_2.13", "4.1_2.13", "4.0_2.13", "3.5_2.13", "3.5_2.12"}


@pytest.fixture(
    params=["the default row", pytest.param("every row", marks=pytest.mark.slow)],
    scope="module",
)
def built(request: pytest.FixtureRequest) -> dict[Row, Path]:
    """The jars that were built: `make setup` makes that of the default row, `make jars` all."""
    jars = _jars.shipped()
    if request.param == "every row":
        assert list(jars) == promised(), "make the jars first: make jars"
        return jars
    return {row: path for row, path in jars.items() if row == Row("4.1", "2.13")}


def test_a_jar_of_another_version_hides_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for version in ("0.10.0", "0.9.0"):
        (tmp_path / f"spark-zorder-4.1_2.13-{version}.jar").touch()
    monkeypatch.setattr(_jars, "_FOLDER", tmp_path)
    monkeypatch.setattr(_jars, "__version__", "0.10.0")
    found = {Row("4.1", "2.13"): tmp_path / "spark-zorder-4.1_2.13-0.10.0.jar"}
    assert _jars.shipped() == found


def test_the_jars_say_which_row_and_version_they_are(built: dict[Row, Path]) -> None:
    assert built
    for row, path in built.items():
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode()
        assert f"Spark-ZOrder-Row: {row.spark}_{row.scala}" in manifest.splitlines()
        assert f"Spark-ZOrder-Spark-Line: {row.spark}" in manifest.splitlines()
        assert f"Spark-ZOrder-Scala: {row.scala}" in manifest.splitlines()
        assert f"Spark-ZOrder-Version: {__version__}" in manifest.splitlines()


def test_every_class_is_for_the_java_of_its_row(built: dict[Row, Path]) -> None:
    """Spark 3.5 still runs on Java 8; every later one needs 17."""
    for row, path in built.items():
        java = table_of_the_build()[f"{row.spark}_{row.scala}"]["javaRelease"]
        assert java == ("8" if row.spark == "3.5" else "17")
        with zipfile.ZipFile(path) as jar:
            assert class_versions(jar) == {CLASS_VERSION[java]}, path.name


def test_the_jars_hold_nothing_but_ours(built: dict[Row, Path]) -> None:
    for path in built.values():
        with zipfile.ZipFile(path) as jar:
            classes = [name for name in jar.namelist() if name.endswith(".class")]
            names = set(jar.namelist())
        ours = ("io/sparkzorder/", "org/apache/spark/sql/sparkzorder/")
        assert [name for name in classes if not name.startswith(ours)] == []
        assert {"META-INF/LICENSE", "META-INF/NOTICE"} <= names


def test_the_build_and_the_package_have_one_version() -> None:
    build = (ROOT / "build.sbt").read_text()
    assert re.findall(r'ThisBuild / version := "(.+)"', build) == [__version__]


@pytest.mark.parametrize(
    ("requirements", "row"),
    [
        ("dev.txt", "4.1_2.13"),
        ("spark-3.5.txt", "3.5_2.12"),
        ("spark-4.0.txt", "4.0_2.13"),
        ("spark-4.2.txt", "4.2_2.13"),
    ],
)
def test_the_environments_have_the_spark_of_their_row(requirements: str, row: str) -> None:
    text = (ROOT / "requirements" / requirements).read_text()
    assert f"pyspark=={rows_of_the_build()[row]}" in text.splitlines()


@pytest.mark.usefixtures("every_row")
def test_a_jar_is_found_by_line_and_scala() -> None:
    assert _jars.row_of(_jars.find("4.1").name) == Row("4.1", "2.13")
    assert _jars.row_of(_jars.find("3.5", "2.12").name) == Row("3.5", "2.12")
    assert _jars.row_of(_jars.find("3.5", "2.13").name) == Row("3.5", "2.13")


@pytest.mark.usefixtures("every_row")
def test_every_jar_of_a_line_can_be_listed() -> None:
    assert list(_jars.of_line("3.5")) == [Row("3.5", "2.12"), Row("3.5", "2.13")]
    assert list(_jars.of_line("3.5", "2.13")) == [Row("3.5", "2.13")]


@pytest.mark.usefixtures("every_row")
def test_a_missing_row_names_the_rows_that_there_are() -> None:
    with pytest.raises(LookupError, match=r"Spark 4\.1 with Scala 2\.11\. Supported: Spark 3\.5"):
        _jars.find("4.1", "2.11")


def test_the_scala_of_spark_home_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "scala-library-2.11.8.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(LookupError, match=r"with Scala 2\.11"):
        _jars.find_for_pyspark()


@pytest.mark.usefixtures("every_row")
@pytest.mark.parametrize(
    ("spark", "library", "row"),
    [
        ("3.5.4", "2.12.18", Row("3.5", "2.12")),
        ("3.5.8", "2.13.8", Row("3.5", "2.13")),
        ("4.0.0", "2.13.16", Row("4.0", "2.13")),
        ("4.2.1", "2.13.18", Row("4.2", "2.13")),
    ],
)
def test_the_running_spark_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: str, library: str, row: Row
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"scala-library-{library}.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(pyspark, "__version__", spark)
    assert _jars.row_of(_jars.find_for_pyspark().name) == row


def test_a_checkout_without_jars_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_jars, "_FOLDER", tmp_path)
    with pytest.raises(LookupError, match="make jars"):
        _jars.find("4.1")


def test_a_checkout_without_the_jar_of_a_row_says_how_to_make_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a user of Spark 3.5 meets in a checkout where `make setup` alone has run."""
    folder = tmp_path / "python/spark_zorder/jars"
    folder.mkdir(parents=True)
    (folder / f"spark-zorder-4.1_2.13-{__version__}.jar").touch()
    (tmp_path / "build.sbt").touch()
    monkeypatch.setattr(_jars, "_FOLDER", folder)
    monkeypatch.setattr(pyspark, "__version__", "3.5.8")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(LookupError, match=r"no jar for Spark 3\.5\. Built in .*4\.1.*make jars"):
        _jars.find_for_pyspark()


def test_a_jar_of_another_version_is_as_if_it_were_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-zorder-4.1_2.13-0.0.9.jar").touch()
    monkeypatch.setattr(_jars, "_FOLDER", tmp_path)
    with pytest.raises(LookupError, match=f"no spark-zorder jars of version {__version__}"):
        _jars.find("4.1")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("spark-zorder-4.1_2.13-0.2.0.jar", Row("4.1", "2.13")),
        # as Spark names what spark.jars.packages brings
        ("io.sparkzorder_spark-zorder-3.5_2.12-0.3.0-rc1.jar", Row("3.5", "2.12")),
        ("spark-zorder-notes.jar", None),
        ("delta-spark_2.13-4.0.0.jar", None),
    ],
)
def test_a_jar_is_recognised_by_its_name(name: str, row: Row | None) -> None:
    assert _jars.row_of(name) == row
    assert (_jars.version_of(name) is None) == (row is None)


def test_the_version_of_a_jar_is_read_from_its_name() -> None:
    assert _jars.version_of("/x/spark-zorder-4.1_2.13-0.3.0-rc1.jar") == "0.3.0-rc1"

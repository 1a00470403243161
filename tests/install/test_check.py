# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_zorder
from spark_zorder import __version__, _check, _jars
from spark_zorder.session import EXTENSION


def test_a_configured_session_is_reported_as_it_is(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark_zorder.check(spark)
    report = capsys.readouterr().out
    row = _jars.row_of(_jars.find_for_pyspark().name)
    assert f"spark-zorder   {__version__}" in report
    assert f"Spark          {spark.version}" in report
    assert f"extensions     {EXTENSION}" in report
    assert f"({row})" in report
    assert report.endswith("extension      loaded\n")


def test_a_session_without_the_extension_gets_the_lines_to_add(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_check, "is_loaded", lambda session: False)
    assert not spark_zorder.check(spark)
    lines = capsys.readouterr().out.splitlines()
    assert "extension      NOT loaded" in lines
    assert "jars for       " + ", ".join(map(str, sorted(_jars.shipped()))) in lines
    assert f"spark.jars            {_jars.find_for_pyspark()}" in lines
    assert f"spark.sql.extensions  {EXTENSION}" in lines


@pytest.mark.usefixtures("every_row")
def test_a_server_of_another_line_gets_every_jar_of_its_line() -> None:
    advice = "\n".join(_check._advice("3.5.4"))
    for row, jar in _jars.of_line("3.5").items():
        assert f"spark.jars            {jar}    # if its Scala is {row.scala}" in advice


@pytest.mark.usefixtures("every_row")
def test_a_line_without_a_jar_is_told_the_lines_that_have_one() -> None:
    (line,) = _check._advice("3.4.1")
    assert "no jar for Spark 3.4. Supported: Spark 3.5 with Scala 2.12" in line


def test_a_jar_in_the_folder_of_spark_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jar = tmp_path / "jars" / "spark-zorder-4.1_2.13-0.0.9.jar"
    jar.parent.mkdir()
    jar.touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    report = "\n".join(_check._session(spark, True))
    # the folder of a server is unknown
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    assert (str(jar) in report) != is_remote
    assert ("is of version 0.0.9" in report) != is_remote


def test_a_jar_of_another_version_than_the_package_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "/old/spark-zorder-4.1_2.13-0.0.9.jar"
    monkeypatch.setattr(_jars, "ours_in", lambda jars: [old])
    report = "\n".join(_check._session(spark, True))
    assert old in report
    assert f"is of version 0.0.9, this package of {__version__}" in report

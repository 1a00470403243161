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
    assert f"spark.jars            {_jars.find_for_pyspark()}" in lines
    assert f"spark.sql.extensions  {EXTENSION}" in lines

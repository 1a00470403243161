# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

import pytest

from spark_zorder import __version__, _jars, cli
from spark_zorder.cli import main


def test_jar_prints_the_path_for_the_installed_pyspark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar"]) == 0
    assert capsys.readouterr().out == f"{_jars.find_for_pyspark()}\n"


@pytest.mark.usefixtures("every_row")
def test_jar_takes_a_full_version_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar", "--spark", "3.5.8", "--scala", "2.12.18"]) == 0
    assert capsys.readouterr().out == f"{_jars.find('3.5', '2.12')}\n"


@pytest.mark.parametrize("row", [["--spark", "3.3"], ["--spark", "4.1", "--scala", "2.12"]])
def test_jar_of_no_row_is_one_line_of_error(
    capsys: pytest.CaptureFixture[str], row: list[str]
) -> None:
    assert main(["jar", *row]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("spark-zorder: spark-zorder has no jar for Spark")
    assert len(err.splitlines()) == 1


def test_what_keeps_a_spark_from_starting_is_one_line_of_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise FileNotFoundError("/no/spark/bin/spark-submit")

    monkeypatch.setattr(cli, "configure", fail)
    assert main(["check"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no session could be started: /no/spark/bin/spark-submit" in line


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"spark-zorder {__version__}\n"

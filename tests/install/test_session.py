# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The settings that configure() makes; no session is built. Sessions: test_loading.py."""

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_zorder import _jars, configure, session
from spark_zorder.session import EXTENSION, _settings_of

JARS = "spark.jars"
EXTENSIONS = "spark.sql.extensions"


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty configuration folder, so that settings of this machine have no effect."""
    for variable in ("PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_REMOTE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    # hide the JVM that another test has started
    run_by(monkeypatch)
    return tmp_path


def run_by(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Pretend that a JVM with these settings is running; without settings, that none is."""
    monkeypatch.setattr(session, "_settings_of_running_jvm", lambda: settings)


@pytest.fixture
def jar() -> str:
    return str(_jars.find_for_pyspark())


def configured(**settings: str) -> dict[str, str]:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder.config(key, value)
    return _settings_of(configure(builder))


def test_nothing_but_jar_and_extension_is_set(jar: str) -> None:
    assert configured() == {JARS: jar, EXTENSIONS: EXTENSION}


def test_settings_of_the_builder_are_added_to(jar: str) -> None:
    settings = configured(**{JARS: "a.jar, b.jar", EXTENSIONS: "x.Y", "spark.other": "1"})
    assert settings == {
        JARS: f"a.jar,b.jar,{jar}",
        EXTENSIONS: f"x.Y,{EXTENSION}",
        "spark.other": "1",
    }


def test_twice_is_once() -> None:
    builder = configure(SparkSession.builder.config(EXTENSIONS, "x.Y"))
    once = _settings_of(builder)
    assert _settings_of(configure(builder)) == once


def test_a_jar_of_ours_that_is_there_already_stays_alone() -> None:
    mine = "/elsewhere/spark-zorder-4.1_2.13-0.0.9.jar"
    assert configured(**{JARS: mine})[JARS] == mine


@pytest.mark.parametrize(
    "line",
    [
        "spark.sql.extensions x.Y",
        "spark.sql.extensions\tx.Y  ",
        "  spark.sql.extensions = x.Y",
        "spark.sql.extensions:x.Y",
        "spark.sql.extensions \\\n    x.Y",
    ],
)
def test_spark_defaults_are_added_to(no_defaults: Path, jar: str, line: str) -> None:
    text = f"# spark.jars no.jar\n! neither\n\n{line}\nspark.jars c.jar\nspark.other 1\n"
    (no_defaults / "spark-defaults.conf").write_text(text)
    assert configured() == {JARS: f"c.jar,{jar}", EXTENSIONS: f"x.Y,{EXTENSION}"}


def test_spark_defaults_are_found_in_spark_home(
    monkeypatch: pytest.MonkeyPatch, no_defaults: Path, jar: str
) -> None:
    (no_defaults / "conf").mkdir()
    (no_defaults / "conf" / "spark-defaults.conf").write_text("spark.jars c.jar")
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("SPARK_HOME", str(no_defaults))
    assert configured()[JARS] == f"c.jar,{jar}"


def test_submit_arguments_are_added_to(monkeypatch: pytest.MonkeyPatch, no_defaults: Path) -> None:
    (no_defaults / "spark-defaults.conf").write_text("spark.sql.extensions hidden.One")
    arguments = f"--conf '{EXTENSIONS}=x.Y' --conf spark.z=1 pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert configured()[EXTENSIONS] == f"x.Y,{EXTENSION}"


@pytest.mark.parametrize("option", ["--properties-file {}", "--properties-file={}"])
def test_a_properties_file_takes_the_place_of_spark_defaults(
    monkeypatch: pytest.MonkeyPatch, no_defaults: Path, jar: str, option: str
) -> None:
    (no_defaults / "spark-defaults.conf").write_text("spark.sql.extensions hidden.One")
    file = no_defaults / "my.conf"
    file.write_text("spark.sql.extensions x.Y\nspark.jars c.jar")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", option.format(file) + " pyspark-shell")
    assert configured() == {JARS: f"c.jar,{jar}", EXTENSIONS: f"x.Y,{EXTENSION}"}


def test_the_last_of_submit_arguments_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = f"--conf {EXTENSIONS}=x.Y --conf={EXTENSIONS}=x.Z pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert configured()[EXTENSIONS] == f"x.Z,{EXTENSION}"


@pytest.mark.parametrize("option", ["--jars {}", "--jars={}", "--conf spark.jars={}"])
def test_jars_of_submit_arguments_hide_those_of_the_builder(
    monkeypatch: pytest.MonkeyPatch, jar: str, option: str
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", option.format("a.jar") + " pyspark-shell")
    with pytest.raises(RuntimeError, match="PYSPARK_SUBMIT_ARGS") as refusal:
        configured()
    assert jar in str(refusal.value)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", option.format(f"a.jar,{jar}") + " pyspark-shell")
    assert configured() == {EXTENSIONS: EXTENSION}


@pytest.mark.parametrize("setting", [JARS, "spark.yarn.dist.jars", "spark.repl.local.jars"])
def test_settings_of_spark_submit_stay(
    monkeypatch: pytest.MonkeyPatch, jar: str, setting: str
) -> None:
    run_by(monkeypatch, **{setting: f"delta.jar,{jar}", EXTENSIONS: "io.Delta"})
    assert configured() == {EXTENSIONS: f"io.Delta,{EXTENSION}"}


def test_a_class_path_may_have_whole_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jar: str
) -> None:
    (tmp_path / Path(jar).name).touch()
    run_by(monkeypatch, **{"spark.driver.extraClassPath": f"{tmp_path}/*"})
    assert configured() == {EXTENSIONS: EXTENSION}


def test_a_running_jvm_without_the_jar_is_refused(
    monkeypatch: pytest.MonkeyPatch, jar: str
) -> None:
    run_by(monkeypatch, **{JARS: "delta.jar"})
    with pytest.raises(RuntimeError, match="already running") as refusal:
        configured()
    assert jar in str(refusal.value)


def test_comments_of_spark_defaults_are_not_continued(no_defaults: Path, jar: str) -> None:
    text = "# gr\u00fcn \\\nspark.jars c.jar\n"
    (no_defaults / "spark-defaults.conf").write_text(text, encoding="latin-1")
    assert configured()[JARS] == f"c.jar,{jar}"


def test_the_builder_hides_spark_defaults_as_in_spark(no_defaults: Path) -> None:
    (no_defaults / "spark-defaults.conf").write_text("spark.sql.extensions hidden.One")
    assert configured(**{EXTENSIONS: "x.Y"})[EXTENSIONS] == f"x.Y,{EXTENSION}"


@pytest.mark.usefixtures("every_row")
def test_an_unsupported_spark_is_refused_with_the_supported_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.3.2")
    with pytest.raises(LookupError, match=r"Spark 3\.3.*Supported: .*Spark 4\.1 with Scala 2\.13"):
        configure(SparkSession.builder)


def test_a_remote_server_is_refused_without_telling_the_token() -> None:
    with pytest.raises(RuntimeError, match="--jars") as refusal:
        configure(SparkSession.builder.remote("sc://host:15002/;token=secret"))
    assert "host:15002" in str(refusal.value)
    assert "secret" not in str(refusal.value)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The errors of build/sbt and build/venv; java is a stand-in, and sbt never runs."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, run

# answers the launcher's questions to a JDK; as Ivy, it creates a file that is not the launcher
FAKE_JAVA = """#!/bin/sh
case "$*" in
  *-XshowSettings*) echo "    java.specification.version = ${FAKE_VERSION:-17}" >&2 ;;
  *--list-modules*) echo "${FAKE_MODULE:-jdk.compiler@17}" ;;
  *org.apache.ivy.Main*) for last; do :; done; touch "$(dirname "$last")/sbt-launch-1.11.7.jar" ;;
  *) printf '%s\\n' "$PWD" "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of build/ with a fake environment."""
    shutil.copytree(ROOT / "build", tmp_path / "build")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    jars = tmp_path / ".venv/lib/python3.11/site-packages/pyspark/jars"
    jars.mkdir(parents=True)
    (jars / "ivy-2.5.3.jar").touch()
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    (tmp_path / ".venv/.installed").touch()
    return tmp_path


@pytest.fixture
def java_home(tmp_path: Path) -> str:
    java = tmp_path / "jdk/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE_JAVA)
    java.chmod(0o755)
    return str(tmp_path / "jdk")


def test_arguments_reach_sbt_in_the_root_of_the_project_from_anywhere(
    checkout: Path, java_home: str
) -> None:
    (checkout / ".cache").mkdir()
    (checkout / ".cache/sbt-launch-1.11.7.jar").touch()
    command = [str(checkout / "build/sbt"), "spark41/testOnly *Bounds*", "print version"]
    done = run(command, cwd=Path("/"), JAVA_HOME=java_home, SBT_OPTS="-Da=b -Dc=d")
    lines = done.stdout.splitlines()
    assert lines[0] == str(checkout)
    assert lines[-6:-4] == ["-Da=b", "-Dc=d"]
    assert lines[-2:] == ["spark41/testOnly *Bounds*", "print version"]


def test_a_launcher_with_another_checksum_is_neither_run_nor_kept(
    checkout: Path, java_home: str
) -> None:
    done = run([str(checkout / "build/sbt"), "compile"], JAVA_HOME=java_home)
    assert done.returncode == 1
    assert "SHA-256" in done.stderr
    assert done.stdout == ""
    assert list((checkout / ".cache").iterdir()) == []


def test_a_missing_jdk_is_named(checkout: Path) -> None:
    done = run([str(checkout / "build/sbt"), "compile"], JAVA_HOME=str(checkout / "none"))
    assert done.returncode == 1
    assert "Install a JDK 17, or set JAVA_HOME" in done.stderr


def test_another_jdk_is_named_with_its_version(checkout: Path, java_home: str) -> None:
    done = run([str(checkout / "build/sbt"), "compile"], JAVA_HOME=java_home, FAKE_VERSION="11")
    assert done.returncode == 1
    assert "JDK 17 is needed" in done.stderr
    assert "is 11" in done.stderr


def test_a_jre_is_refused(checkout: Path, java_home: str) -> None:
    command = [str(checkout / "build/sbt"), "compile"]
    done = run(command, JAVA_HOME=java_home, FAKE_MODULE="java.base@17")
    assert done.returncode == 1
    assert "without compiler" in done.stderr


def venv(checkout: Path, **environment: str) -> tuple[int, str]:
    command = [str(checkout / "build/venv"), ".venv-new", "requirements/dev.txt"]
    done = run(command, cwd=checkout, **environment)
    return done.returncode, done.stderr


def test_a_missing_python_is_named(checkout: Path) -> None:
    code, message = venv(checkout, PYTHON="no-such-python")
    assert code == 1
    assert "Install Python 3.10 or newer" in message


@pytest.mark.parametrize(
    ("fails_on", "message"),
    [("version_info", "Python 3.10 or newer is needed"), ("ensurepip", "lacks the module venv")],
)
def test_an_unfit_python_is_named(checkout: Path, fails_on: str, message: str) -> None:
    python = checkout / "python3"
    python.write_text(f'#!/bin/sh\ncase "$*" in *{fails_on}*) exit 1 ;; esac\necho Python 3.9\n')
    python.chmod(0o755)
    code, error = venv(checkout, PYTHON=str(python))
    assert code == 1
    assert message in error


def test_an_environment_that_is_up_to_date_is_left_alone(checkout: Path) -> None:
    shutil.copy(checkout / "requirements/dev.txt", checkout / ".venv/.installed")
    os.utime(checkout / ".venv/.installed", (0, 0))
    done = run([str(checkout / "build/venv"), ".venv", "requirements/dev.txt"])
    assert (done.returncode, done.stdout) == (0, "")
    assert (checkout / ".venv/.installed").stat().st_mtime > 0

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Which jars the targets of the Makefile build and leave; sbt and Python are stand-ins."""

import fnmatch
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.support import ROOT, run

pytestmark = pytest.mark.classic_only

# makes an empty jar for each row that it is asked for
FAKE_SBT = """#!/bin/sh
rows="4.1_2.13"
[ "$1" = package ] && rows="3.5_2.12 4.0_2.13 4.1_2.13"
mkdir -p target/jars
for row in $rows; do touch "target/jars/spark-zorder-$row.jar"; done
"""
FAKE_PYTHON = "#!/bin/sh\nmkdir -p dist\n"
DEFAULT = {"spark-zorder-4.1_2.13.jar"}
ALL = DEFAULT | {"spark-zorder-3.5_2.12.jar", "spark-zorder-4.0_2.13.jar"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Makefile with the files that it looks at, all of them old."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "build", tmp_path / "build")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for name, text in {"build/sbt": FAKE_SBT, ".venv/bin/python": FAKE_PYTHON}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    shutil.copy(ROOT / "requirements/dev.txt", tmp_path / ".venv/.installed")
    sources = ["jvm/src/main/A.scala", "python/spark_zorder/_version.py"]
    for name in [*sources, "build.sbt", "pyproject.toml", "README.md", "LICENSE", "NOTICE"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    long_ago = time.time() - 1000
    for path in tmp_path.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    os.utime(tmp_path / ".venv/.installed")
    return tmp_path


def make(checkout: Path, *targets: str) -> set[str]:
    """Run make; the jars that are there afterwards, in the package and in target alike."""
    done = run(["make", *targets], cwd=checkout, MAKEFLAGS="", MAKELEVEL="")
    assert done.returncode == 0, done.stdout + done.stderr
    folders = ("python/spark_zorder/jars", "target/jars")
    inside, outside = ({p.name for p in (checkout / f).glob("*.jar")} for f in folders)
    assert inside == outside
    return inside


def test_suites_and_benchmarks_that_targets_name_are_there() -> None:
    sources = [p.read_text() for p in (ROOT / "jvm/src").glob("test*/**/*.scala")]
    names = [
        f"{package[1]}.{name}"
        for source in sources
        if (package := re.search(r"^package ([\w.]+)$", source, re.MULTILINE))
        for name in re.findall(r"^(?:final )?(?:class|object) (\w+)", source, re.MULTILINE)
    ]
    makefile = (ROOT / "Makefile").read_text()
    wanted = re.findall(r"[\w.*]+Suite\b", makefile) + re.findall(r"runMain ([\w.]+)", makefile)
    assert len(wanted) > 10
    # sbt runs nothing, and says nothing, for a name that no suite has
    assert [name for name in wanted if not fnmatch.filter(names, name)] == []


def change(checkout: Path) -> None:
    """Edit a source file; clocks of file systems are coarse."""
    stamp = time.time() + 2
    os.utime(checkout / "jvm/src/main/A.scala", (stamp, stamp))


def test_setup_builds_the_default_row_alone(checkout: Path) -> None:
    assert make(checkout, "setup") == DEFAULT


def test_jars_and_wheel_build_every_row(checkout: Path) -> None:
    assert make(checkout, "setup") == DEFAULT
    assert make(checkout, "jars") == ALL
    assert make(checkout, "wheel") == ALL


@pytest.mark.parametrize("targets", [["setup"], ["jars", "setup"], ["wheel", "setup"]], ids=str)
def test_setup_leaves_the_jars_of_other_rows_that_are_current(
    checkout: Path, targets: list[str]
) -> None:
    make(checkout, "jars")
    kept = checkout / "target/jars/spark-zorder-3.5_2.12.jar"
    before = kept.stat().st_mtime_ns
    assert make(checkout, *targets) == ALL
    assert kept.stat().st_mtime_ns == before


def test_setup_removes_the_jars_of_other_rows_that_are_out_of_date(checkout: Path) -> None:
    make(checkout, "wheel")
    change(checkout)
    assert make(checkout, "setup") == DEFAULT
    assert make(checkout, "wheel") == ALL


def test_a_build_that_fails_leaves_no_jar(checkout: Path) -> None:
    make(checkout, "jars")
    change(checkout)
    (checkout / "build/sbt").write_text("#!/bin/sh\nexit 1\n")
    # what `build/tell` waits between two lines
    done = run(["make", "setup"], cwd=checkout, MAKEFLAGS="", MAKELEVEL="", TELL_SECONDS="1")
    assert done.returncode != 0
    assert list(checkout.rglob("*.jar")) == []


def test_a_long_command_is_heard_of(checkout: Path) -> None:
    command = ["build/tell", "waiting", "sleep", "2.5"]
    done = run(command, cwd=checkout, TELL_SECONDS="1")
    assert done.returncode == 0
    first, *rest = done.stdout.splitlines()
    assert first == "==> waiting"
    assert rest
    assert all(line.startswith("... waiting: ") for line in rest)


def test_the_end_of_a_long_command_is_that_of_the_command(checkout: Path) -> None:
    done = run(["build/tell", "failing", "sh", "-c", "exit 3"], cwd=checkout)
    assert done.returncode == 3

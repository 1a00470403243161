# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Finds the jar for a Spark line and a Scala version; this pair is called a row."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from spark_zorder._version import __version__

_JARS = ("spark.jars", "spark.yarn.dist.jars", "spark.repl.local.jars")
_FOLDER = Path(__file__).parent / "jars"
_JAR_NAME = re.compile(
    r"spark-zorder-(?P<spark>\d+\.\d+)_(?P<scala>\d+\.\d+)-(?P<version>.+)\.jar$"
)


@dataclass(frozen=True, order=True)
class Row:
    """A Spark line and a Scala binary version, such as Spark 4.1 with Scala 2.13."""

    spark: str
    scala: str

    def __str__(self) -> str:
        return f"Spark {self.spark} with Scala {self.scala}"


def row_of(jar: str) -> Row | None:
    """Read the row from the name of a spark-zorder jar; None if it is another jar."""
    found = _JAR_NAME.search(jar)
    return Row(found["spark"], found["scala"]) if found else None


def version_of(jar: str) -> str | None:
    """Read the version from the name of a spark-zorder jar; None if it is another jar."""
    found = _JAR_NAME.search(jar)
    return found["version"] if found else None


def ours_in(jars: Iterable[str]) -> list[str]:
    """Return those of the jars that belong to spark-zorder."""
    return [jar for jar in jars if row_of(jar)]


def class_path(setting: Callable[[str], str | None], home: Path | None = None) -> list[str]:
    """List the jars in the settings of a driver, and those in the folder of its Spark."""

    def entries(key: str, separator: str) -> list[str]:
        return [entry.strip() for entry in (setting(key) or "").split(separator)]

    # some cluster managers move the jars of --jars to a setting of their own
    found = [jar for key in _JARS for jar in entries(key, ",")]
    for entry in entries("spark.driver.extraClassPath", os.pathsep):
        folder = Path(entry[:-1]) if entry.endswith("*") else None
        found += map(str, sorted(folder.glob("*.jar"))) if folder else [entry]
    found += [str(jar) for jar in (sorted((home / "jars").glob("*.jar")) if home else [])]
    # a Python shell notes the jars of --jars once more, as URIs
    return list(dict.fromkeys(re.sub("^file:/+", "/", jar) for jar in found))


def shipped() -> dict[Row, Path]:
    """List the rows for which this installation holds a jar of its own version."""
    own = [path for path in sorted(_FOLDER.glob("*.jar")) if version_of(path.name) == __version__]
    return {row: path for path in own if (row := row_of(path.name)) is not None}


def find(spark: str, scala: str | None = None) -> Path:
    """Find the jar for a Spark line; by default, for the first Scala version of that line.

    Raises
    ------
    LookupError
        No jar was built for that row; the message names the rows that have one.
    """
    return next(iter(of_line(spark, scala).values()))


def of_line(spark: str, scala: str | None = None) -> dict[Row, Path]:
    """List the jars for a Spark line, or for one Scala version of it; never empty.

    Raises
    ------
    LookupError
        No jar was built for that row; the message names the rows that have one.
    """
    rows = dict(sorted(shipped().items()))
    if not rows:
        raise LookupError(
            f"no spark-zorder jars of version {__version__} in {_FOLDER}. "
            "In a source checkout run `make jars`"
        )
    found = {
        row: path for row, path in rows.items() if row.spark == spark and scala in (None, row.scala)
    }
    if not found:
        asked = f"Spark {spark}" + (f" with Scala {scala}" if scala else "")
        known = ", ".join(map(str, rows))
        if _is_checkout():
            advice = f"Built in {_FOLDER}: {known}. Run `make jars` to build all"
        else:
            advice = f"Supported: {known}"
        raise LookupError(f"spark-zorder has no jar for {asked}. {advice}")
    return found


def _is_checkout() -> bool:
    # in a checkout, `make setup` builds the jar of one row; a wheel has all jars
    return (_FOLDER.parent.parent.parent / "build.sbt").is_file()


def of_session(line: str) -> dict[Row, Path]:
    """List the jars that may fit a session.

    If the session runs on this Python's pyspark, the Scala version is known. For a session on a
    remote server the Scala version is not known.

    Raises
    ------
    LookupError
        No jar was built for that row; the message names the rows that have one.
    """
    return of_line(line, _scala_in(spark_home() / "jars") if line == pyspark_line() else None)


def find_for_pyspark() -> Path:
    """Find the jar for the pyspark that this Python imports."""
    return next(iter(of_session(pyspark_line()).values()))


def pyspark_line() -> str:
    """Return the Spark line of the pyspark that this Python imports."""
    import pyspark

    return line_of(pyspark.__version__)


def spark_home() -> Path:
    """Return the folder of Spark that pyspark uses: SPARK_HOME, or the folder of pyspark."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def line_of(version: str) -> str:
    """Return the line of a version: ``4.1`` for ``4.1.3``."""
    return ".".join(version.split(".")[:2])


def _scala_in(jars: Path) -> str | None:
    # there are builds of Spark 3.5 for two Scala versions; each contains its Scala library
    for library in jars.glob("scala-library-*.jar"):
        return line_of(library.name.removeprefix("scala-library-"))
    return None

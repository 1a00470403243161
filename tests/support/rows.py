# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The rows of the build: pairs of Spark line and Scala version, each with its own jar."""

import re

from spark_zorder import _jars
from spark_zorder._jars import Row
from tests.support import ROOT


def table_of_the_build() -> dict[str, dict[str, str]]:
    """Read the fields of each row from project/SparkRow.scala."""
    table = (ROOT / "project" / "SparkRow.scala").read_text()
    values = re.findall(r"val (\w+): SparkRow = (?:SparkRow|(\w+)\.copy)\((.*?)\)\n", table, re.S)
    rows: dict[str, dict[str, str]] = {}
    for name, base, body in values:
        own = dict(re.findall(r'(\w+) = "?([\d.]+)\b', body))
        rows[name] = {**rows.get(base, {}), **own}
    return {f"{_jars.line_of(r['spark'])}_{_jars.line_of(r['scala'])}": r for r in rows.values()}


def rows_of_the_build() -> dict[str, str]:
    """Return the Spark version of each row."""
    return {row: fields["spark"] for row, fields in table_of_the_build().items()}


def promised() -> list[Row]:
    """List all rows, including those without a jar in this checkout."""
    return sorted(Row(*row.split("_")) for row in table_of_the_build())

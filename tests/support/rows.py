"""The rows of the build: Spark lines with a Scala version, of which each has a jar."""

import re

from spark_zorder import _jars
from spark_zorder._jars import Row
from tests.support import ROOT


def table_of_the_build() -> dict[str, dict[str, str]]:
    """The fields of each row, as project/SparkRow.scala has them."""
    table = (ROOT / "project" / "SparkRow.scala").read_text()
    values = re.findall(r"val (\w+): SparkRow = (?:SparkRow|(\w+)\.copy)\((.*?)\)\n", table, re.S)
    rows: dict[str, dict[str, str]] = {}
    for name, base, body in values:
        own = dict(re.findall(r'(\w+) = "?([\d.]+)\b', body))
        rows[name] = {**rows.get(base, {}), **own}
    return {f"{_jars.line_of(r['spark'])}_{_jars.line_of(r['scala'])}": r for r in rows.values()}


def rows_of_the_build() -> dict[str, str]:
    """Spark version by row."""
    return {row: fields["spark"] for row, fields in table_of_the_build().items()}


def promised() -> list[Row]:
    """Every row, whether its jar was built here or not."""
    return sorted(Row(*row.split("_")) for row in table_of_the_build())

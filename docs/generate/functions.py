# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The page of the SQL functions, from what DESCRIBE FUNCTION EXTENDED says of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from spark_zorder import functions as F

HEAD = """\
# Functions

*Made from the functions' own descriptions by `make docs-pages`.*

Each function has the same name in SQL, in Python (`from spark_zorder import functions as F`) and in Scala
(`import io.sparkzorder.functions._`). The functions work in classic sessions and over Spark Connect, and their result is
never NULL. The text of a function says where it does not work. On Spark 4.0, functions that sample do not work [over a recursive
query](ways-in.md#what-differs-between-the-lines). `DESCRIBE FUNCTION EXTENDED zorder` shows the same text in a session.

| to | use |
|---|---|
| sort or partition rows so that all columns count alike | `zorder`, `hilbert` |
| do the same in a stream, where rows cannot be sampled | `range_partition_id` with bounds, `interleave_bits`; `zorder_by_value` |
| build your own key | `ordered_bits`, `range_partition_id`, `interleave_bits` |

Three functions first sample the rows of their query, once for all calls over the same input: `zorder`, `hilbert`, and
`range_partition_id` without bounds. EXPLAIN does not start the sampling.

The six names are reserved. They are built-in functions in every session that starts in the same JVM after a session with
the extension, also in a session without it or with `spark.zorder.enabled=false`: a permanent view may only call built-in
functions and functions of the catalog. So `zorder(x)` is never a function of the catalog. Call a function of the catalog
that has one of these names with its database, as in `default.zorder(x)`, also in views that exist already.
`CREATE TEMPORARY FUNCTION` fails for these names.
"""


@dataclass(frozen=True)
class Description:
    """What Spark says of a function."""

    name: str
    usages: list[str]
    sections: dict[str, list[str]]

    def markdown(self) -> str:
        """Return the function's part of the page."""
        parts = [f"## {self.name}"]
        for usage in self.usages:
            call, _, meaning = usage.partition(" - ")
            parts += [f"`{call}`", _plain(meaning)]
        if arguments := self.sections.get("Arguments"):
            parts.append("\n".join(_argument(line) for line in arguments))
        if note := self.sections.get("Note"):
            parts.append("\n".join(_plain(line) for line in note))
        if examples := self.sections.get("Examples"):
            parts.append("```\n" + "\n".join(examples) + "\n```")
        if since := self.sections.get("Since"):
            parts.append(f"Since {' '.join(since)}.")
        return "\n\n".join(parts) + "\n"


def page(spark: SparkSession) -> str:
    """Return the page with every function, in the order of names."""
    return "\n".join([HEAD, *(describe(spark, name).markdown() for name in sorted(F.__all__))])


def describe(spark: SparkSession, name: str) -> Description:
    """Ask a session for a function's description."""
    rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()
    lines = "\n".join(row[0] for row in rows).split("\n")
    said = "\n".join(lines).split("Usage:", 1)[1].split("Extended Usage:", 1)[0]
    # a line of its own for each form of the call
    usages = [" ".join(form.split()) for form in re.split(rf"\n\s*(?={name}\()", "\n" + said)]
    sections: dict[str, list[str]] = {}
    for line in lines:
        # Spark indents the titles of sections by four blanks, and their lines by six
        if found := re.match(r" {4}(\w+):\s*(.*)$", line):
            sections[found[1]] = [found[2]] if found[2] else []
        elif sections and line.strip():
            list(sections.values())[-1].append(line.removeprefix(" " * 6).rstrip())
    return Description(name, [usage for usage in usages if usage], sections)


def _argument(line: str) -> str:
    name, _, meaning = line.strip().removeprefix("* ").partition(" - ")
    return f"- `{name}`: {_plain(meaning)}"


def _plain(text: str) -> str:
    # what Markdown would take for markup
    return re.sub(r"([*<>|])", r"\\\1", text.strip())

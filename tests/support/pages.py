# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Pages of documentation as their readers use them: blocks of code to copy, and what they print.

A block whose language is sql or python runs; a block of text right below it is what it prints. A
block that cannot run in a test says so in the paragraph above it, by the word "untested".
"""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

FENCE = re.compile(r"```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code, the paragraph above it, and the text block below it, if there is one."""

    language: str
    code: str
    above: str
    expected: str | None

    @property
    def is_untested(self) -> bool:
        return "untested" in self.above.lower()


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that have a language other than text."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    made = []
    for match, following in zip_longest(found, found[1:]):
        above = text[: match.start()].rstrip().split("\n\n")[-1]
        below = None
        if (
            following
            and following[1] == "text"
            and not text[match.end() : following.start()].strip()
        ):
            below = following[2]
        if match[1] not in ("", "text"):
            made.append(Block(match[1], match[2], above, below))
    return made


def statements(sql: str) -> list[str]:
    """Return the statements of a block, without comments."""
    code = re.sub(r"--.*", "", sql)
    if code.split()[:1] == ["BEGIN"]:  # a script is one statement
        return [code.strip()]
    return [statement.strip() for statement in code.split(";") if statement.strip()]


class Reader:
    """Runs the blocks of a page one after another in one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._names: dict[str, Any] = {"spark": spark, "SparkSession": SparkSession}

    def run(self, block: Block) -> str:
        """Run a block; return its output and the result of its last statement."""
        return self.sql(block.code) if block.language == "sql" else self.python(block.code)

    def sql(self, code: str) -> str:
        results = [self._spark.sql(statement) for statement in statements(code)]
        return printed_by(results[-1].show)

    def python(self, code: str) -> str:
        # configure() finds the running session, as in the second cell of a notebook
        return printed_by(lambda: exec(code, self._names))


def printed_by(action: Callable[[], object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return out.getvalue()


@contextlib.contextmanager
def database(spark: SparkSession, name: str) -> Iterator[Path]:
    """Create a database for the blocks of a page and use it; return its directory."""
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"USE {name}")
    try:
        described = spark.sql(f"DESCRIBE DATABASE {name}").collect()
        facts = {row.info_name: row.info_value for row in described}
        yield Path(facts["Location"].removeprefix("file:"))
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE {name} CASCADE")

"""Every code block of the README runs, and prints what stands below it."""

import contextlib
import io
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture(scope="module")
def outputs(spark: SparkSession, is_connect: bool) -> Iterator[list[tuple[str, str, str]]]:
    """Each SQL and Python block with what it printed and the text block that follows it."""
    spark.sql("CREATE DATABASE readme")
    spark.sql("USE readme")
    ran = []
    for (kind, code), following in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        # the Python block starts a session of its own kind, which Connect has already
        if kind == "sql" or (kind == "python" and not is_connect):
            printed = run_sql(spark, code) if kind == "sql" else run_python_block(spark, code)
            ran.append((code, printed, following[1] if following[0] == "text" else ""))
    yield ran
    spark.sql("USE default")
    spark.sql("DROP DATABASE readme CASCADE")


def run_sql(spark: SparkSession, block: str) -> str:
    results = [spark.sql(s) for s in block.split(";") if s.strip()]
    return printed_by(results[-1].show)


def run_python_block(spark: SparkSession, block: str) -> str:
    # configure() finds the running session, as in a notebook's second cell
    return printed_by(lambda: exec(block, {"SparkSession": SparkSession}))


def printed_by(action: Callable[[], object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return out.getvalue()


def test_every_block_prints_what_stands_below_it(outputs: list[tuple[str, str, str]]) -> None:
    assert len(outputs) >= 2
    for code, printed, expected in outputs:
        assert expected, f"no output stands below:\n{code}"
        assert printed.strip() == expected.strip()


def test_the_commands_are_targets_of_make() -> None:
    commands = [c for kind, block in BLOCKS if kind == "bash" for c in block.split("\n") if c]
    assert commands == ["make demo", "make test"]
    for command in commands:
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / Path(target)).exists(), f"{page.name} links to {target}"


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 200

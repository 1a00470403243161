"""Every code block of the README runs, and prints what stands below it."""

import subprocess

from pyspark.sql import SparkSession

from tests.support import ROOT
from tests.support.pages import Reader, blocks, database

README = ROOT / "README.md"


def test_every_block_prints_what_stands_below_it(spark: SparkSession, is_connect: bool) -> None:
    reader, ran = Reader(spark), 0
    with database(spark, "readme"):
        for block in blocks(README):
            # the Python block builds a classic session, which is impossible beside Connect
            if block.language == "sql" or (block.language == "python" and not is_connect):
                assert block.expected, f"no output stands below:\n{block.code}"
                assert reader.run(block).strip() == block.expected.strip()
                ran += 1
    assert ran >= 2


def test_the_commands_are_targets_of_make() -> None:
    shell = [block.code for block in blocks(README) if block.language == "bash"]
    commands = [line for code in shell for line in code.splitlines() if line]
    assert commands == ["make demo", "make test"]
    for command in commands:
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 200

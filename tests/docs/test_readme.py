# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Every code block of the README runs, and prints what stands below it."""

import subprocess

from pyspark.sql import SparkSession

from spark_zorder import __version__
from tests.docs.test_docs import TABLES
from tests.support import ROOT
from tests.support.pages import Reader, blocks, database

README = ROOT / "README.md"


def test_every_block_prints_what_stands_below_it(spark: SparkSession, is_connect: bool) -> None:
    reader, ran = Reader(spark), 0
    with database(spark, "readme"):
        spark.sql(TABLES["sales"])
        for block in blocks(README):
            # the Python block builds a classic session, which is impossible beside Connect
            if block.language == "sql" or (block.language == "python" and not is_connect):
                assert block.expected, f"no output stands below:\n{block.code}"
                assert reader.run(block).strip() == block.expected.strip()
                ran += 1
    assert ran >= 2


def commands() -> list[str]:
    shell = [block.code for block in blocks(README) if block.language == "bash"]
    return [line for code in shell for line in code.splitlines() if line]


def test_the_commands_of_make_are_targets() -> None:
    targets = [command for command in commands() if command.startswith("make ")]
    assert targets == ["make wheel", "make demo"]
    for target in targets:
        subprocess.run([*target.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_other_commands_are_those_of_the_install_page() -> None:
    """test_install.py and test_wheel.py run them."""
    pip, sql = [command for command in commands() if not command.startswith("make ")]
    assert pip == f"pip install dist/spark_zorder-{__version__}-py3-none-any.whl"
    assert f"\n{sql} \\\n" in (ROOT / "docs/install.md").read_text()


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 200

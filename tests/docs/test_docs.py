# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The pages in docs/: code blocks run, links are valid, and generated pages are current."""

import re
import subprocess
from pathlib import Path
from types import ModuleType

import duckdb
import matplotlib
import pytest
from pyspark.sql import SparkSession

from docs.experiments.lab import PAGE_ROWS
from docs.generate import file_states, pictures, row_way
from docs.generate.__main__ import PAGES as GENERATED
from spark_zorder import functions as F
from tests.support import ROOT
from tests.support.optimizing import settings
from tests.support.pages import Block, Reader, blocks, database, statements

matplotlib.use("Agg")

pytestmark = pytest.mark.classic_only

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
# The blocks of these pages are examples, not steps: each statement meets tables that OPTIMIZE has
# laid out and that no other example has changed.
REFERENCES = {"sql.md", "skipping-index.md"}
LONG = {"api.md", "sql.md", "skipping-index.md"}
READS_ONLY = {"SELECT", "SHOW", "EXPLAIN", "DESCRIBE", "SET"}
# test_install.py runs the shell commands and the Scala of these pages
RUN_ELSEWHERE = {"install.md", "api.md"}
# S3aSuite runs the example of the page on object stores
ON_A_STORE = ("object-stores.md", "orders")

SALES = """
CREATE TABLE {name} USING parquet AS SELECT /*+ REPARTITION(8) */
  id * 7919 % 10007 AS {first}, {second},
  decimal(id % 997) AS amount, named_struct('id', id % 50) AS item
FROM range(20000)
"""
TABLES = {
    "sales": SALES.format(
        name="sales",
        first="customer_id",
        second="timestamp_seconds(1700000000 + id * 104729 % 86400) AS sold_at",
    ),
    "store_sales": SALES.format(
        name="store_sales",
        first="ss_customer_sk",
        second="id * 104729 % 10009 AS ss_cdemo_sk",
    ),
}
LAID_OUT = {
    "sales": "OPTIMIZE TABLE sales FULL ZORDER BY (customer_id, sold_at)",
    "store_sales": "OPTIMIZE TABLE store_sales FULL ZORDER BY (ss_customer_sk, ss_cdemo_sk)",
}


def names(page: Path) -> str:
    return str(page.relative_to(DOCS))


class Assumed:
    """Tables that a page mentions and does not create."""

    def __init__(self, spark: SparkSession, names: list[str]) -> None:
        self._spark, self._names = spark, names
        self._runs: int | None = None

    def provide(self, runs: int) -> None:
        """Create the tables and run OPTIMIZE so often, unless this is how they are."""
        if runs == self._runs:
            return
        for name in self._names:
            self._spark.sql(f"DROP TABLE IF EXISTS {name}")
            self._spark.sql(TABLES[name])
            for _ in range(runs):
                self._spark.sql(LAID_OUT[name]).collect()
        self._runs = runs

    def changed(self) -> None:
        self._runs = None


@pytest.fixture
def assumed(spark: SparkSession, page: Path) -> Assumed:
    text = page.read_text()
    mentioned = [name for name in TABLES if re.search(rf"\b{name}\b", text)]
    return Assumed(spark, [name for name in mentioned if f"CREATE TABLE {name}" not in text])


@pytest.mark.parametrize(
    "page",
    [
        # each change runs the doctests of the Python API and the other pages, README too
        pytest.param(page, marks=pytest.mark.slow if page.name in LONG else ())
        for page in PAGES
    ],
    ids=names,
)
def test_every_block_runs(
    spark: SparkSession, page: Path, assumed: Assumed, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = [b for b in blocks(page) if b.language in ("sql", "python") and not b.is_untested]
    if page.name == ON_A_STORE[0]:
        code = [b for b in code if ON_A_STORE[1] not in b.code]
    if not code:
        pytest.skip("no code")
    reader = Reader(spark)
    with database(spark, "docs_" + re.sub(r"\W", "_", page.stem)) as directory:
        directory.mkdir(exist_ok=True)
        # paths in examples are relative to the tables
        monkeypatch.chdir(directory)
        assumed.provide(0)
        for block in code:
            try:
                printed = run(spark, reader, block, assumed, page.name in REFERENCES)
            except Exception as error:
                raise AssertionError(f"{page.name} does not run:\n{block.code}") from error
            if block.expected is not None:
                assert printed.strip() == block.expected.strip(), block.code


def run(
    spark: SparkSession, reader: Reader, block: Block, assumed: Assumed, is_reference: bool
) -> str:
    if is_reference and "_index/_3" in block.code:
        # the example reads the third generation of the index
        assumed.provide(3)
    elif is_reference:
        assumed.provide(1)
    if block.language == "sql" and "-- DuckDB" in block.code:
        return "".join(str(duckdb.sql(statement)) for statement in statements(block.code))
    if not is_reference:
        return reader.run(block)
    if block.language == "python":
        printed = reader.run(block)
        assumed.changed()
        return printed
    for statement in statements(block.code):
        assumed.provide(1)
        if statement.startswith("CREATE ZORDER INDEX"):
            spark.sql("DROP IF EXISTS ZORDER INDEX ON sales")
        spark.sql(statement).collect()
        if statement.split()[0] not in READS_ONLY:
            assumed.changed()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_what_does_not_run_says_so(page: Path) -> None:
    for block in blocks(page):
        if block.language not in ("sql", "python") and page.name not in RUN_ELSEWHERE:
            assert block.is_untested, f"nothing runs this block of {page.name}:\n{block.code}"


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    known = {path.name for path in (ROOT / "tests").rglob("*.py")}
    suites = [ROOT / "jvm/src/test", ROOT / "jvm/src/test-fs"]
    sources = [path.read_text() for folder in suites for path in folder.rglob("*.scala")]
    known |= {name for text in sources for name in re.findall(r"class (\w+)", text)}
    for name in re.findall(r"`(?:tests/\w+/)?(test_\w+\.py|\w+Suite)`", page.read_text()):
        assert name in known, f"{page.name} names {name}"


def test_the_navigation_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = re.findall(r":\s+(\S+\.md)$", text.split("\nnav:\n")[1], flags=re.MULTILINE)
    assert sorted(listed) == sorted(names(page) for page in PAGES)


@pytest.mark.parametrize("name", ["functions.md", "configuration.md"])
def test_generated_pages_are_current(spark: SparkSession, name: str) -> None:
    assert (DOCS / name).read_text() == GENERATED[name](spark), "run `make docs-pages`"


def test_the_function_table_is_that_of_python(spark: SparkSession) -> None:
    table = spark._jvm.io.sparkzorder.expressions.ZOrderFunctions.all()  # type: ignore[union-attr]
    in_sql = [table.apply(i)._1().funcName() for i in range(table.size())]
    assert sorted(in_sql) == sorted(F.__all__)


@pytest.mark.parametrize("drawing", [row_way, file_states], ids=lambda d: d.NAME)
def test_drawings_are_current(drawing: ModuleType) -> None:
    assert (DOCS / "images" / drawing.NAME).read_text() == drawing.svg(), "run `make docs-pages`"


def test_pictures_are_made(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {PAGE_ROWS: "2000"}):  # it sets the session's limit of pages
        made = pictures.draw(spark, tmp_path / "tables", tmp_path / "images", rows=20_000)
    assert {file.name for file in made} <= {file.name for file in (DOCS / "images").iterdir()}


def test_the_site_can_be_built(tmp_path: Path) -> None:
    mkdocs = ROOT / ".venv-docs/bin/mkdocs"
    if not mkdocs.exists():
        pytest.skip("make docs makes the environment")
    command = [str(mkdocs), "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/index.html").is_file()

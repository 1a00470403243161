# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The experiments of the documentation on small tables, and the page that they write."""

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from benchmarks.demo.queries import COLUMNS
from docs.experiments import data, impala_text, inserts, lab
from docs.experiments.__main__ import HEAD, PAGE, page, section
from docs.experiments.impala_text import EXPERIMENTS, LEXICAL, ZORDER
from docs.experiments.setting import Setting
from spark_zorder import functions as F
from tests.support.optimizing import settings

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]

ROWS = 20_000


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("experiments")
    keys = [F.pmod(F.xxhash64("id", F.lit(i)), F.lit(90_000)) for i in range(2)]
    columns = [key.cast("int").alias(name) for key, name in zip(keys, COLUMNS, strict=True)]
    spark.range(0, ROWS, 1, 4).select("id", *columns).write.parquet(str(folder / "sales"))
    setting = Setting(
        spark,
        folder,
        store_sales=folder / "sales",
        images=folder / "images",
        rows=ROWS,
        files=8,
        many_files=8,
        sales_page_rows=300,
        page_rows=100,
    )
    # a lab changes the limit of rows in a page for the session
    with settings(spark, {lab.PAGE_ROWS: "100"}):
        yield setting


@pytest.fixture(scope="module")
def text(small: Setting) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lab, "VALUES", 20)
        return page(small)


def headings(page_text: str) -> list[str]:
    return re.findall(r"^#+ .*$", page_text, flags=re.MULTILINE)


def test_the_kept_page_has_the_parts_and_texts_of_the_program(text: str) -> None:
    kept = PAGE.read_text()
    assert kept.startswith(HEAD)
    assert headings(kept) == headings(text)
    for experiment in EXPERIMENTS:
        written = section(experiment.__doc__ or "", [])
        assert written.strip() in kept, "run `make experiments`"


def test_every_experiment_measured_something(text: str) -> None:
    for part in text.split("\n## ")[1:]:
        assert part.count("\n| --") >= 1, part


def test_its_pictures_are_kept(small: Setting, text: str) -> None:
    shown = set(re.findall(r"!\[.*\]\(\.\./images/(.*)\)", text))
    assert shown == {image.name for image in small.images.iterdir()}
    assert all((PAGE.parent.parent / "images" / name).is_file() for name in shown)


def test_a_lexical_sort_serves_its_first_column_and_zorder_both(small: Setting) -> None:
    made = small.lab()
    rows = data.uniform(small.spark, ROWS, 2)
    source = made.unordered("two", rows, 16)
    layouts = {LEXICAL: made.lexical(source, "a", "b"), ZORDER: made.optimized(source, "a", "b")}
    case = made.ask(["a", "b"], layouts)
    assert case.of(LEXICAL, "a").files < 1.2
    assert case.of(LEXICAL, "b").files > 15
    for column in ("a", "b"):
        assert case.of(ZORDER, column).files == pytest.approx(4, abs=0.5)
        assert case.of(ZORDER, column).ruled_out() > 0.8


def test_a_claim_that_does_not_hold_ends_the_program() -> None:
    readings = [
        lab.Reading(layout, column, 4, 16, pages, 64)
        for layout, pages in ((LEXICAL, 1), (ZORDER, 60))
        for column in ("a", "b")
    ]
    with pytest.raises(AssertionError, match="does not hold"):
        impala_text._further_columns_gain(lab.Case(readings), "a", "b")


def test_the_page_of_inserts_has_the_parts_of_its_program(small: Setting) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lab, "VALUES", 20)
        # the program changes them for its session
        sizes = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
        with settings(small.spark, {name: str(small.spark.conf.get(name)) for name in sizes}):
            written = inserts.page(small, rounds=1)
    kept = inserts.PAGE.read_text()
    assert kept.startswith(inserts.HEAD)
    assert headings(kept) == headings(written)
    for experiment in inserts.EXPERIMENTS:
        assert experiment.text in kept, "run `make experiments`"

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The checks and reports of the demonstration find the errors that they look for."""

import time
from pathlib import Path

import duckdb
import pytest
from PIL import Image
from pyspark.sql import SparkSession

from benchmarks.demo import layouts, picture, report
from benchmarks.demo.boxes import boxes
from benchmarks.demo.data import store_sales
from benchmarks.demo.engines import DuckDB, Run, Spark
from benchmarks.demo.layouts import Layout
from benchmarks.demo.measure import Measured
from benchmarks.demo.progress import step
from benchmarks.demo.queries import ONE_CUSTOMER, ONE_DEMOGRAPHICS, QUERIES
from benchmarks.shared import minmax, png, same_rows
from spark_zorder.report import Box

pytestmark = pytest.mark.classic_only


def _write(folder: Path, *files: str) -> Path:
    """Write the result of each query to a Parquet file with 2,048 rows in each row group."""
    folder.mkdir()
    for i, query in enumerate(files):
        duckdb.execute(
            f"copy ({query}) to '{folder}/{i}.parquet' (format parquet, row_group_size 2048)"
        )
    return folder


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def test_equal_multisets_in_different_files_are_the_same(tmp_path: Path) -> None:
    one = _write(tmp_path / "one", "from (values (1, 5), (2, null), (2, null)) t(a, b)")
    halves = ["from (values (2, null)) t(a, b)", "from (values (2, null), (1, 5)) t(a, b)"]
    other = _write(tmp_path / "other", *halves)
    assert same_rows.check(_files(one), _files(other)) == 3
    assert same_rows.check(_files(one), _files(other), compared_whole=0) == 3


@pytest.mark.parametrize("compared_whole", [0, 100], ids=["by hashes", "whole"])
@pytest.mark.parametrize(
    "values",
    ["(1), (2)", "(1), (2), (2), (2)", "(1), (1), (2)", "(1), (2), (null)"],
    ids=["lost", "doubled", "one for another", "changed"],
)
def test_a_lost_or_changed_row_is_noticed(tmp_path: Path, values: str, compared_whole: int) -> None:
    one = _write(tmp_path / "one", "from (values (1), (2), (2)) t(a)")
    other = _write(tmp_path / "other", f"from (values {values}) t(a)")
    with pytest.raises(AssertionError, match="rows"):
        same_rows.check(_files(one), _files(other), compared_whole)


def test_rows_of_partitions_are_compared_with_their_partitions(tmp_path: Path) -> None:
    """Also where the files of one table hold the partition column, as those of Iceberg do."""
    one, other = tmp_path / "one", tmp_path / "other"
    for table in (one, other):
        table.mkdir()
    _write(one / "p=1", "select 5 a, 6 b")
    _write(other / "p=1", "select 5 a, 1 p, 6 b")
    _write(other / "p=2", "select 5 a, 2 p, 6 b")
    assert same_rows.check(_files(one / "p=1"), _files(other / "p=1")) == 1
    with pytest.raises(AssertionError, match="1 rows of the first are not in the second"):
        same_rows.check(_files(one / "p=1"), _files(other / "p=2"))


def test_a_box_spans_all_row_groups_of_its_file(tmp_path: Path) -> None:
    two_groups = "select i - 7 as a, i % 5 as b from range(4096) t(i)"
    nulls = "select null::bigint as a, 9 as b from range(10)"
    table = _write(tmp_path / "t", two_groups, nulls)
    assert boxes(table, ["b", "a"]) == [
        Box(4096, ((0, 4), (-7, 4088))),
        Box(10, ((9, 9), None)),
    ]
    (wide, _) = boxes(table, ["b", "a"])
    assert wide.holds(1, 4088)
    assert not wide.holds(1, 4089)
    assert not Box(2, (None,)).holds(0, 0)


def test_queries_mean_the_same_rows_to_an_engine(tmp_path: Path) -> None:
    rows = "(49969, 961370), (50968, 1), (50969, 980577), (null, 961370)"
    columns = f"{ONE_CUSTOMER.column}, {ONE_DEMOGRAPHICS.column}"
    table = _write(tmp_path / "t", f"from (values {rows}) t({columns})")
    engine = DuckDB()
    found = [engine.run(table, query.where()).rows for query in QUERIES]
    assert found == [1, 2, 1, 2, 3]


def test_the_files_that_spark_plans(spark: SparkSession, tmp_path: Path) -> None:
    table = _write(
        tmp_path / "t", *(f"select i as a from range({i}, {i + 10}) t(i)" for i in (0, 10, 20))
    )
    layouts.index_all(spark, [Layout("t", table, 0)])
    plain, indexed = (Spark(spark, skipping).run(table, "a = 15") for skipping in (False, True))
    assert (plain.rows, plain.files) == (1, 3)
    assert (indexed.rows, indexed.files) == (1, 1)
    assert 0 < (indexed.bytes_read or 0) < (plain.bytes_read or 0)


def test_the_table_of_planned_files() -> None:
    share = minmax.Share(1, 2, 3, 4)
    reads = minmax.Reads(share, share, share)
    plain, indexed = Run(2, 5_000_000, 7, 64), Run(1, 1_000_000, 7, 8)
    made = Measured(QUERIES[0], Layout("optimized", Path("t"), 1), reads, plain, indexed, plain)
    (line,) = report.planned([made]).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:] == ["optimized", "64", "8", "5.0", "1.0", "2.00", "1.00"]


def test_a_long_step_is_heard_of(capsys: pytest.CaptureFixture[str]) -> None:
    with step("waiting", every=0.1):
        time.sleep(0.5)
    out, err = capsys.readouterr()
    first, *rest = err.splitlines()
    assert (out, first) == ("", "==> waiting")
    assert rest
    assert all(line.startswith("... waiting: ") for line in rest)


def test_a_table_of_another_size_is_refused(tmp_path: Path) -> None:
    generated = _write(tmp_path / "generated", "select 1")
    (generated / "0.parquet").rename(generated / "store_sales.parquet")
    with pytest.raises(ValueError, match="has 1 rows, but store_sales has 2,880,404"):
        store_sales(tmp_path)


def test_the_picture_has_few_colours(tmp_path: Path) -> None:
    panels = [picture.Panel("one", [Box(1, ((0, 90_000), (0, 90_000))), Box(1, (None, None))])]
    target = tmp_path / "new folder" / "p.png"
    picture.plane(target, panels, (ONE_CUSTOMER, ONE_DEMOGRAPHICS))
    with Image.open(target) as image:
        assert image.mode == "P"
        assert len(image.getcolors() or []) <= png.COLOURS

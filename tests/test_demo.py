"""The parts of the demonstration that judge: each must notice what it is there to notice."""

from pathlib import Path

import duckdb
import pytest
from PIL import Image

from benchmarks.demo import picture
from benchmarks.demo.boxes import boxes
from benchmarks.demo.data import store_sales
from benchmarks.demo.engines import DuckDB
from benchmarks.demo.queries import ONE_CUSTOMER, ONE_DEMOGRAPHICS, QUERIES
from benchmarks.shared import png, same_rows
from spark_zorder.report import Box


def _write(folder: Path, *files: str) -> Path:
    """Write the result of each query as a Parquet file of one folder, 2,048 rows a row group."""
    folder.mkdir()
    for i, query in enumerate(files):
        duckdb.execute(
            f"copy ({query}) to '{folder}/{i}.parquet' (format parquet, row_group_size 2048)"
        )
    return folder


def test_equal_multisets_in_different_files_are_the_same(tmp_path: Path) -> None:
    one = _write(tmp_path / "one", "from (values (1, 5), (2, null), (2, null)) t(a, b)")
    halves = ["from (values (2, null)) t(a, b)", "from (values (2, null), (1, 5)) t(a, b)"]
    other = _write(tmp_path / "other", *halves)
    assert same_rows.check(one, other) == 3
    assert same_rows.check(one, other, compared_whole=0) == 3


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
        same_rows.check(one, other, compared_whole)


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

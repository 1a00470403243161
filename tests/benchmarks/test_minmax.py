# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What benchmarks say of files, row groups and pages, against loops over the rows of these."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from benchmarks.shared import parquet_footer
from benchmarks.shared.minmax import MinMax, Share
from benchmarks.shared.ranges import Range, point

PAGE = 100
GROUP = 1000


def write(path: Path, columns: dict[str, pa.Array], page_index: bool = True) -> Path:
    pq.write_table(
        pa.table(columns),
        path,
        row_group_size=GROUP,
        use_dictionary=False,
        data_page_size=1,
        write_batch_size=PAGE,
        write_page_index=page_index,
    )
    return path


def ints(values: Any) -> pa.Array:
    return pa.array(values, pa.int32())


def test_a_sorted_column(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "0", {"k": ints(range(5000))}),
        write(tmp_path / "1", {"k": ints(range(5000, 8000))}),
    ]
    reads = MinMax(files, ["k"]).reads([point("k", 4321)])
    assert reads.files == Share(1, 2, 5000, 8000)
    assert reads.row_groups == Share(1, 8, GROUP, 8000)
    assert reads.pages == Share(1, 80, PAGE, 8000)
    assert reads.files.fraction() == 0.5


def test_a_range_touches_the_pages_that_it_overlaps(tmp_path: Path) -> None:
    minmax = MinMax([write(tmp_path / "0", {"k": ints(range(1000))})], ["k"])

    def pages(low: int, high: int) -> Share:
        return minmax.reads([Range("k", low, high)]).pages

    assert pages(100, 199) == Share(1, 10, 100, 1000)
    assert pages(99, 200) == Share(3, 10, 300, 1000)
    assert pages(-5, 2000) == Share(10, 10, 1000, 1000)
    assert pages(1000, 2000) == Share(0, 10, 0, 1000)
    assert pages(200, 100) == Share(0, 10, 0, 1000)


def test_two_columns_count_pages_with_rows_of_both(tmp_path: Path) -> None:
    columns = {"k": ints(range(1000)), "half": ints([k % 500 for k in range(1000)])}
    minmax = MinMax([write(tmp_path / "0", columns)], columns)
    both = minmax.reads([point("k", 250), point("half", 250)])
    assert both.pages == Share(2, 20, 100, 1000)
    never = minmax.reads([point("k", 250), point("half", 350)])
    assert never.row_groups.read == 1
    assert never.pages == Share(0, 20, 0, 1000)


def test_nulls_absent_columns_and_empty_files(tmp_path: Path) -> None:
    some = [None if k == 150 else k for k in range(300)]
    files = [
        write(tmp_path / "0", {"k": ints([None] * 300)}),
        write(tmp_path / "1", {"k": ints(some)}),
        write(tmp_path / "2", {"other": ints(range(300))}),
        write(tmp_path / "3", {"k": ints([])}),
    ]
    reads = MinMax(files, ["k"]).reads([point("k", 10)])
    assert reads.files == Share(1, 4, 300, 900)
    # how many pages the NULLs take is the writer's business
    assert (reads.pages.read, reads.pages.read_rows, reads.pages.total_rows) == (1, 100, 900)
    assert MinMax([], ["k"]).reads([point("k", 1)]).files.fraction() == 0.0


def test_what_says_nothing_is_read(tmp_path: Path) -> None:
    doubles = write(tmp_path / "0", {"d": pa.array([1.0, 2.0])})
    reads = MinMax([doubles], ["d"]).reads([point("d", 7)])
    assert (reads.files.read, reads.row_groups.read, reads.pages.read) == (1, 1, 1)
    plain = write(tmp_path / "1", {"k": ints(range(1000))}, page_index=False)
    reads = MinMax([plain], ["k"]).reads([point("k", 7)])
    assert (reads.files.read, reads.pages) == (1, Share(1, 1, 1000, 1000))


def test_integers_of_two_widths_dates_and_text(tmp_path: Path) -> None:
    for kind, low, high in [(pa.int64(), -7, 1 << 40), (pa.date32(), 0, 20000)]:
        files = [write(tmp_path / str(v), {"c": pa.array([v], kind)}) for v in (low, high)]
        for value in (low, high):
            assert MinMax(files, ["c"]).reads([point("c", value)]).files.read == 1
    files = [write(tmp_path / t, {"c": pa.array([t])}) for t in ("apple", "äpfel")]
    assert MinMax(files, ["c"]).reads([point("c", "äpfel")]).pages.read == 1
    assert MinMax(files, ["c"]).reads([Range("c", "a", "ä")]).files.read == 1


def test_ranges_of_columns_that_were_not_loaded_are_refused(tmp_path: Path) -> None:
    minmax = MinMax([write(tmp_path / "0", {"k": ints([1])})], ["k"])
    for wanted in ([], [point("other", 1)]):
        with pytest.raises(ValueError, match="are needed"):
            minmax.reads(wanted)


def test_no_unit_that_holds_a_matching_row_is_ruled_out(tmp_path: Path) -> None:
    seed = 20261121
    draw = random.Random(seed)
    for i in range(6):
        a = [None if draw.random() < 0.1 else draw.randrange(400) + i * 100 for _ in range(1500)]
        b = [k // 3 for k in range(1500)]
        file = write(tmp_path / str(i), {"a": ints(a), "b": ints(b)})
        minmax = MinMax([file], ["a", "b"])
        for _ in range(100):
            low, other = draw.randrange(1000), draw.randrange(500)
            ranges = [Range("a", low, low + draw.randrange(60)), Range("b", other, other + 9)]
            (first, second) = ranges
            found = sum(
                x is not None and first.low <= x <= first.high and second.low <= y <= second.high
                for x, y in zip(a, b, strict=True)
            )
            reads = minmax.reads(ranges)
            assert found == 0 or reads.files.read == 1, (seed, ranges)
            assert found <= reads.pages.read_rows <= reads.row_groups.read_rows, (seed, ranges)


def test_bounds_are_those_that_pyarrow_reads(tmp_path: Path) -> None:
    file = write(tmp_path / "0", {"k": ints(range(2500))})
    metadata = pq.read_metadata(file)
    groups = parquet_footer.read(file, ["k"])
    for i, group in enumerate(groups):
        statistics = metadata.row_group(i).column(0).statistics
        assert group.columns["k"].bounds == (statistics.min, statistics.max)
        assert [p.rows for p in group.pages["k"]] == [PAGE] * (group.rows // PAGE)

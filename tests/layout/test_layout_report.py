# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The text, the HTML table and the picture of a layout report."""

import builtins
import math
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

from spark_zorder import LayoutReport, ZOrderTable
from spark_zorder import functions as F
from spark_zorder.report import Box
from tests.support import condition_of, data_files, snapshot

UNITS = Row(count=4, perPointQuery=2.0, ideal=2.0, excess=1.0)


def row(column: str, ranges: list[tuple[str | None, str | None]], **changes: Any) -> Row:
    """Return a row like those of SHOW LAYOUT."""
    values = {
        "column": column,
        "files": len(ranges),
        "rows": 10 * len(ranges),
        "filesPerPointQuery": 1.5,
        "ideal": 1.0,
        "excess": 1.5,
        "overlapDepth": Row(mean=1.5, max=2, histogram={1: 1, 2: 1}),
        "distinctAtLeast": 4,
        "nullShare": 0.0,
        "sortedness": None,
        "rowGroups": UNITS,
        "pages": UNITS,
        "retainedBytes": 0,
        "retainedUntil": None,
        "warning": None,
        "fileRanges": [Row(min=low, max=high, rows=10) for low, high in ranges],
        "values": None,
    }
    return Row(**{**values, **changes})


class Collected:
    """A fake data frame with the given rows."""

    def __init__(self, *rows: Row) -> None:
        self.rows = list(rows)
        self.collected = 0

    def collect(self) -> list[Row]:
        self.collected += 1
        return self.rows


def report(*rows: Row) -> LayoutReport:
    return LayoutReport(cast(DataFrame, Collected(*rows)))


def test_the_text_is_a_table() -> None:
    text = str(
        report(
            row("a", [("1", "2"), ("2", "3")]),
            row("name", [("x", "y")], pages=None, excess=None, sortedness=0.25, warning="constant"),
        )
    )
    head, first, second = text.splitlines()
    words = (
        "column files rows files per point query ideal excess overlap depth row groups pages "
        "sortedness warning"
    )
    assert " ".join(head.split()) == words
    cells = "a 2 20 1.50 1.00 1.50 1.5, at most 2 2.00 of 4 2.00 of 4"
    assert " ".join(first.split()) == cells
    assert second.split()[-4:] == ["not", "read", "0.25", "constant"]
    # numbers are aligned right
    assert head.index("rows") + len("rows") == first.index("20") + len("20")


def test_the_table_is_looked_at_once_and_only_when_needed() -> None:
    frame = Collected(row("a", [("1", "2")]))
    made = LayoutReport(cast(DataFrame, frame))
    assert made.df is cast(Any, frame)
    assert made.toDF() is cast(Any, frame)
    assert frame.collected == 0
    assert repr(made) == str(made)
    assert frame.collected == 1


def test_a_notebook_gets_a_table_without_markup_of_others() -> None:
    shown = report(row("<b>&", [("1", "2")]))._repr_html_()
    assert shown.startswith("<table>")
    assert "&lt;b&gt;&amp;" in shown
    assert "<b>" not in shown


def test_boxes_are_numbers_where_all_ends_are() -> None:
    made = report(
        row("a", [("1", "2"), (None, None)]),
        row("d", [("-1.5", "1E10"), ("Infinity", "NaN")]),
        row("s", [("1", "1_0"), ("2", "x")]),
        row("zip", [("10000", "9"), ("2", "3")]),
        row("code", [("007", "010"), ("2", "3")]),
        row("word", [("inf", "nan"), ("2", "3")]),
    )
    first, second = made.boxes("a", "d")
    assert first == Box(10, ((1, 2), (-1.5, 1e10)))
    # NaN is the greatest value
    assert second == Box(10, (None, (math.inf, math.inf)))
    assert second.holds(1, math.inf)
    assert made.boxes("s") == [Box(10, (("1", "1_0"),)), Box(10, (("2", "x"),))]
    assert made.boxes("zip")[0].bounds == (("10000", "9"),)
    assert made.boxes("code")[0].bounds == (("007", "010"),)
    assert made.boxes("word")[0].bounds == (("inf", "nan"),)
    assert made.boxes() == []
    with pytest.raises(ValueError, match="not about 'nope'"):
        made.boxes("nope")


def test_without_matplotlib_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain(name, *rest, **kwargs)

    monkeypatch.delitem(sys.modules, "spark_zorder._plot", raising=False)
    monkeypatch.delattr("spark_zorder._plot", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        report(row("a", [("1", "2")])).plot()


def outlines(plane: Any) -> list[Any]:
    return [patch for patch in plane.patches if not patch.get_fill()]


def test_a_picture_has_a_box_for_each_file() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    before = report(
        row("a", [("1", "9"), ("1", "9")]), row("d", [("2026-01-01", "2026-02-01")] * 2)
    )
    after = report(
        row("a", [("1", "4"), ("5", "9")]), row("d", [("2026-01-01", "2026-02-01"), (None, None)])
    )
    drawn = after.plot(before)
    old, new, shares, depths = drawn.axes
    assert len(outlines(old)) == 2
    # a file with only NULLs has no box
    assert [(p.get_x(), p.get_width()) for p in outlines(new)] == [(1.0, 3.0)]
    assert len(shares.patches) == 4
    assert [p.get_height() for p in cast(Any, shares.patches)] == [0.75] * 4
    assert [text.get_text() for text in depths.get_xticklabels()] == ["1", "2"]
    with pytest.raises(ValueError, match="this one about"):
        after.plot(report(row("b", [("1", "2")])))
    with pytest.raises(ValueError, match="nothing to plot"):
        report().plot()


def test_one_column_has_a_picture_too() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    plane, _, _ = report(row("a", [("1", "4"), ("5", "9")])).plot().axes
    assert [p.get_y() for p in outlines(plane)] == [0, 1]


def test_a_table_before_and_after_optimize(spark: SparkSession, tmp_path: Path) -> None:
    """The report after OPTIMIZE agrees with the result of the statement."""
    directory = tmp_path / "points"
    rows = spark.range(4000).select("id", F.expr("id % 61 AS x"), F.expr("(id * 7) % 67 AS y"))
    rows.repartition(16).write.parquet(str(directory))
    table = ZOrderTable.forPath(spark, str(directory))
    untouched = snapshot(directory)
    before = table.layout("x", "y")
    assert before.columns == ["x", "y"]
    assert snapshot(directory) == untouched
    size = sum(file.stat().st_size for file in data_files(directory)) // 16
    (result,) = table.optimize().option("targetFileSize", size).executeZOrderBy("x", "y").collect()
    after = table.layout()
    assert after.columns == ["x", "y"]
    for old, new, gain in zip(before.rows, after.rows, result.columns, strict=True):
        assert old["filesPerPointQuery"] == pytest.approx(gain.filesPerPointQueryBefore, rel=0.05)
        assert new["filesPerPointQuery"] == pytest.approx(gain.filesPerPointQueryAfter, rel=0.1)
        assert new["ideal"] == pytest.approx(gain.ideal)
        assert new["overlapDepth"]["max"] < old["overlapDepth"]["max"]
        assert sum(new["overlapDepth"]["histogram"].values()) == new["files"]
    rows_of_files = [file["rows"] for file in after.rows[0]["fileRanges"]]
    assert [box.rows for box in after.boxes("x", "y")] == rows_of_files
    assert after.df.columns == before.toDF().columns
    assert table.detail().columns == after.df.columns
    assert "files per point query" in str(after)


def test_an_unknown_column_is_an_error_of_the_statement(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(10).write.parquet(str(tmp_path / "t"))
    with pytest.raises(AnalysisException) as refusal:
        ZOrderTable.forPath(spark, str(tmp_path / "t")).layout("nope").df.collect()
    assert condition_of(refusal.value) == "ZORDER_COLUMN_NOT_FOUND"

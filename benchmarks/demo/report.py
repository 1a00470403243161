# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The tables that the demonstration prints, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.demo.layouts import Layout
from benchmarks.demo.measure import Measured
from benchmarks.demo.queries import ONE_DEMOGRAPHICS
from benchmarks.shared.markdown import table


def layouts(made: Sequence[Layout]) -> str:
    """Return the files, the size and the seconds of each layout."""
    rows = [
        [
            layout.name,
            str(len(layout.files())),
            f"{layout.size() / 1e6:,.0f}",
            f"{layout.seconds:.1f}",
        ]
        for layout in made
    ]
    return table(["layout", "files", "MB", "seconds to make"], rows)


def queries(measured: Iterable[Measured]) -> str:
    """Return what each query must read by min/max, and the time of the engines."""
    rows = []
    last = None
    for m in measured:
        reads, where = m.reads, m.query.where()
        rows.append(
            [
                # a query is named once, above its layouts' lines
                where if where != last else "",
                m.layout.name,
                *(str(share) for share in (reads.files, reads.row_groups, reads.pages)),
                f"{reads.pages.read_rows:,}",
                f"{m.spark.rows:,}",
                f"{m.spark.seconds:.2f}",
                _megabytes(m.spark.bytes_read),
                f"{m.duckdb.seconds:.3f}",
                _megabytes(m.duckdb.bytes_read),
            ]
        )
        last = where
    head = ["query", "layout", "files", "row groups", "pages", "rows in them", "rows found"]
    return table([*head, "Spark s", "Spark MB", "DuckDB s", "DuckDB MB"], rows)


def planned(measured: Iterable[Measured]) -> str:
    """Return the files that Spark opens for a query, without and with the skipping index."""
    rows = []
    last = None
    for m in measured:
        where = m.query.where()
        rows.append(
            [
                where if where != last else "",
                m.layout.name,
                *(f"{run.files:,}" for run in (m.spark, m.indexed)),
                *(_megabytes(run.bytes_read) for run in (m.spark, m.indexed)),
                *(f"{run.seconds:.2f}" for run in (m.spark, m.indexed)),
            ]
        )
        last = where
    pairs = [f"{what}{how}" for what in ("files", "MB", "s") for how in ("", ", with the index")]
    return table(["query", "layout", *pairs], rows)


def pages_ruled_out(measured: Iterable[Measured], layout: Layout) -> str:
    """Return the number that compares with the second query of Impala's text."""
    (one,) = [m for m in measured if m.layout == layout and m.query.ranges == (ONE_DEMOGRAPHICS,)]
    pages = one.reads.pages
    return (
        f"{one.query.where()}: min/max rules out {1 - pages.fraction():.1%} of the column's pages "
        f"in the layout {layout.name} ({pages.total_rows / pages.total:,.0f} rows a page); "
        "Impala's text reports 91.5 % of all pages of one Z-ordered file (20,000 rows a page)"
    )


def _megabytes(count: int | None) -> str:
    return "not known" if count is None else f"{count / 1e6:,.1f}"

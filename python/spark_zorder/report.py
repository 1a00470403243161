# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The result of SHOW LAYOUT as text, as a table in a notebook, and as a picture."""

import html
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spark_zorder._boxes import Bounds, Box, comparable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame, Row

HEAD = (
    "column",
    "files",
    "rows",
    "files per point query",
    "ideal",
    "excess",
    "overlap depth",
    "row groups",
    "pages",
    "sortedness",
    "warning",
)


class LayoutReport:
    """How well the files of a table are laid out, for each of some columns.

    `ZOrderTable.layout` returns a report. It prints as a table, also in notebooks; `plot` draws it,
    and `df` has its rows. The files of the table are examined once.

    .. versionadded:: 0.3.0

    Examples
    --------
    >>> from spark_zorder import ZOrderTable
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/numbers"
    >>> spark.range(0, 1000, 1, 4).write.parquet(path)
    >>> report = ZOrderTable.forPath(spark, path).layout("id")
    >>> report.columns, report.rows[0]["filesPerPointQuery"]
    (['id'], 1.0)
    >>> print(report)  # doctest: +ELLIPSIS
    column  files   rows  files per point query  ideal  excess ...
    """

    def __init__(self, df: "DataFrame") -> None:
        self._df = df

    @property
    def df(self) -> "DataFrame":
        """The rows of SHOW LAYOUT, one for each column of the report."""
        return self._df

    def toDF(self) -> "DataFrame":
        """Return the same as `df`."""
        return self._df

    @cached_property
    def rows(self) -> "list[Row]":
        """The rows of `df`, collected once."""
        return self._df.collect()

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the report."""
        return [row["column"] for row in self.rows]

    def boxes(self, *columns: str) -> list[Box]:
        """Return the box that each file spans in the space of some columns of the report.

        There is one box for each file, or for each of a sample of 4,096 files. The bounds of
        numeric columns are numbers. The bounds of other columns are text, whose order may differ
        from that of the column.

        Raises
        ------
        ValueError
            The report does not contain one of the columns.
        """
        by_column = [self._row(column)["fileRanges"] for column in columns]
        ends = [comparable([(f["min"], f["max"]) for f in files]) for files in by_column]
        rows = [file["rows"] for file in by_column[0]] if by_column else []
        return [Box(count, tuple(bounds)) for count, *bounds in zip(rows, *ends, strict=True)]

    def plot(self, before: "LayoutReport | None" = None) -> "Figure":
        """Draw the boxes of the files, the files per point query, and the overlap depths.

        Parameters
        ----------
        before : LayoutReport, optional
            A report on the same columns for comparison, such as one made before an OPTIMIZE.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show the figure; ``savefig`` saves it. It opens no window.

        Raises
        ------
        ImportError
            matplotlib is not installed; run ``pip install matplotlib``.
        ValueError
            The report has no columns, or `before` has different ones.
        """
        try:
            from spark_zorder import _plot
        except ImportError as missing:
            raise ImportError(
                "LayoutReport.plot() needs matplotlib: pip install matplotlib"
            ) from missing
        if not self.rows:
            raise ValueError("the report is about no column, so there is nothing to plot")
        if before is not None and before.columns != self.columns:
            raise ValueError(
                f"the report before is about {before.columns}, this one about {self.columns}"
            )
        return _plot.figure(self, before)

    def __str__(self) -> str:
        lines = [HEAD, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        # text is aligned left, numbers are aligned right
        left = {0, len(HEAD) - 1}
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i in left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(_cells(row), "td") for row in self.rows)
        return f"<table><thead>{line(HEAD, 'th')}</thead><tbody>{body}</tbody></table>"

    def _row(self, column: str) -> "Row":
        for row in self.rows:
            if row["column"] == column:
                return row
        raise ValueError(f"the report is about {self.columns}, not about {column!r}")


def _cells(row: "Row") -> tuple[str, ...]:
    depth = row["overlapDepth"]
    return (
        row["column"],
        f"{row['files']:,}",
        f"{row['rows']:,}",
        _number(row["filesPerPointQuery"]),
        _number(row["ideal"]),
        _number(row["excess"]),
        f"{depth['mean']:,.1f}, at most {depth['max']:,}",
        _units(row["rowGroups"]),
        _units(row["pages"]),
        _number(row["sortedness"]),
        row["warning"] or "",
    )


def _units(units: Any) -> str:
    if units is None:
        return "not read"
    return f"{_number(units['perPointQuery'])} of {units['count']:,}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


__all__ = ["Bounds", "Box", "LayoutReport"]

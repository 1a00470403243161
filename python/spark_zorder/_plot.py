# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of a layout report. Only `LayoutReport.plot` imports this: it needs matplotlib."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from spark_zorder._boxes import Box

if TYPE_CHECKING:
    from spark_zorder.report import LayoutReport

BEFORE, AFTER, IDEAL, EDGE = "#ea580c", "#2563eb", "#374151", "#374151"


def figure(after: "LayoutReport", before: "LayoutReport | None") -> Figure:
    """Draw the boxes of each report, then the files per point query and the overlap depths."""
    reports = [after] if before is None else [before, after]
    titles = ["files"] if before is None else ["before", "after"]
    # pyplot prepares notebooks for figures; without close() they would show this figure twice
    count = len(reports) + 2
    drawn, grid = pyplot.subplots(1, count, figsize=(4.4 * count, 4.4), squeeze=False)
    pyplot.close(drawn)
    axes = grid[0]
    scales = _scales([box for report in reports for box in _corners(report)])
    for axis, report, title, colour in zip(axes, reports, titles, _colours(reports), strict=False):
        _plane(axis, report, title, scales, colour)
    _shares(axes[-2], reports)
    _depths(axes[-1], reports)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    drawn.tight_layout()
    return drawn


def rectangles(
    axis: Axes, boxes: Sequence[Box], fill: Callable[[Box], str | None] = lambda _: None
) -> None:
    """Draw the files' boxes in the plane of two columns.

    `fill` returns the colour of a box, or None for a box without a fill.
    """
    for box in boxes:
        across, up = box.bounds
        if across is None or up is None or not all(map(math.isfinite, (*across, *up))):
            # a file with only NULLs has no bounds; NaN and infinity have no place on an axis
            continue
        corner, width, height = (across[0], up[0]), across[1] - across[0], up[1] - up[0]
        if colour := fill(box):
            axis.add_patch(Rectangle(corner, width, height, facecolor=colour, alpha=0.3))
        axis.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=EDGE, linewidth=0.7))


def _corners(report: "LayoutReport") -> list[Box]:
    return report.boxes(*report.columns[:2])


@dataclass(frozen=True)
class Scale:
    """The positions of values on an axis: numbers by their size, texts by their order."""

    texts: list[str]
    whole: bool = False

    def place(self, value: Any) -> float:
        """Return the position of a value."""
        return float(bisect_left(self.texts, str(value))) if self.texts else float(value)

    def label(self, axis: Axis) -> None:
        """Label the axis with some of the texts, or with round numbers."""
        if self.texts:
            step = max(1, (len(self.texts) - 1) // 4)
            shown = range(0, len(self.texts), step)
            axis.set_ticks(shown, [self.texts[i] for i in shown])
            return
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=self.whole))
        if self.whole:
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _scales(boxes: Sequence[Box]) -> list[Scale]:
    count = len(boxes[0].bounds) if boxes else 0
    return [_scale([box.bounds[i] for box in boxes]) for i in range(count)]


def _scale(bounds: Sequence[Any]) -> Scale:
    ends = {end for pair in bounds if pair is not None for end in pair}
    if any(isinstance(end, str) for end in ends):
        return Scale(sorted(map(str, ends)))
    # larger numbers are written as 1e18
    return Scale([], all(isinstance(end, int) and abs(end) < 10**9 for end in ends))


def _plane(
    axis: Axes, report: "LayoutReport", title: str, scales: Sequence[Scale], colour: str
) -> None:
    boxes = [_placed(box, scales) for box in _corners(report)]
    names = report.columns[:2]
    if len(names) == 1:
        # with one column, the files are stacked along the second axis
        boxes = [Box(b.rows, (b.bounds[0], (i, i + 1))) for i, b in enumerate(boxes)]
        names = [*names, "file"]
    # overlapping boxes look darker
    rectangles(axis, boxes, lambda _: colour)
    files = report.rows[0]["files"]
    shown = f"{len(boxes):,} of " if len(boxes) < files else ""
    axis.set_title(f"{title}: {shown}{files:,} files", loc="left")
    axis.set_xlabel(names[0])
    axis.set_ylabel(names[1])
    axis.autoscale_view()
    for scale, drawn in zip(scales, (axis.xaxis, axis.yaxis), strict=False):
        scale.label(drawn)


def _placed(box: Box, scales: Sequence[Scale]) -> Box:
    return Box(
        box.rows,
        tuple(
            None if pair is None else (scale.place(pair[0]), scale.place(pair[1]))
            for pair, scale in zip(box.bounds, scales, strict=True)
        ),
    )


def _colours(reports: Sequence[object]) -> list[str]:
    return [AFTER] if len(reports) == 1 else [BEFORE, AFTER]


def _shares(axis: Axes, reports: Sequence["LayoutReport"]) -> None:
    columns = reports[0].columns
    width = 0.8 / len(reports)
    for i, (report, colour) in enumerate(zip(reports, _colours(reports), strict=True)):
        at = [c + (i - (len(reports) - 1) / 2) * width for c in range(len(columns))]
        heights = [_share(row["filesPerPointQuery"], row) for row in report.rows]
        bars = axis.bar(at, heights, width, color=colour)
        files = [f"{row['filesPerPointQuery']:,.1f}" for row in report.rows]
        axis.bar_label(bars, files, padding=3)  # clear of the dashed line
    ideals = [_share(row["ideal"], row) for row in reports[-1].rows]
    axis.hlines(
        ideals,
        [c - 0.45 for c in range(len(columns))],
        [c + 0.45 for c in range(len(columns))],
        colors=IDEAL,
        linestyles="dashed",
        label="ideal",
    )
    axis.set_xticks(range(len(columns)), columns)
    axis.set_ylim(0, 1.18)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.set_title("files that a point query reads", loc="left")
    axis.set_xlabel("column of the query (above the bars: files)")
    axis.set_ylabel("share of all files")
    axis.legend(frameon=False, loc="upper right")


def _share(files: float, row: Any) -> float:
    return files / row["files"] if row["files"] else 0.0


def _depths(axis: Axes, reports: Sequence["LayoutReport"]) -> None:
    column = reports[0].columns[0]
    histograms = [report.rows[0]["overlapDepth"]["histogram"] for report in reports]
    buckets = sorted({bucket for histogram in histograms for bucket in histogram})
    width = 0.8 / len(reports)
    names = ["before", "after"] if len(reports) == 2 else ["files"]
    for i, (histogram, colour) in enumerate(zip(histograms, _colours(reports), strict=True)):
        at = [b + (i - (len(reports) - 1) / 2) * width for b in range(len(buckets))]
        heights = [histogram.get(bucket, 0) for bucket in buckets]
        axis.bar(at, heights, width, color=colour, label=names[i])
    axis.set_xticks(range(len(buckets)), [_bucket(bucket) for bucket in buckets])
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_title("files by overlap depth", loc="left")
    axis.set_xlabel(f"files that share a value of {column}")
    axis.set_ylabel("files")
    if len(reports) > 1:
        axis.margins(y=0.2)
        axis.legend(frameon=False, ncols=2, loc="upper right")


def _bucket(top: int) -> str:
    return str(top) if top <= 2 else f"{top // 2 + 1} to {top}"

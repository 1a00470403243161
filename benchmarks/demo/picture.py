# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A picture of the files as boxes in the plane of two columns, with the queries across it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.shared import png
from benchmarks.shared.ranges import Range
from spark_zorder._plot import rectangles
from spark_zorder.report import Box

FIRST, SECOND, BOTH = "#ea580c", "#2563eb", "#9333ea"


@dataclass(frozen=True)
class Panel:
    """One layout: a title, the boxes of its files, and a caption."""

    title: str
    boxes: Sequence[Box]
    note: str = ""


def plane(target: Path, panels: Sequence[Panel], points: tuple[Range[int], Range[int]]) -> None:
    """Draw a panel for each layout; lines mark the two point queries and the boxes they open."""
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 5.2), sharex=True, sharey=True, squeeze=False
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        _boxes(axis, panel.boxes, points)
        _queries(axis, panel.boxes, points)
        axis.set_title(panel.title, fontsize=13, fontweight="bold", loc="left", pad=40)
        # in the upper left quarter, where neither query's line crosses it
        look = {"ha": "center", "va": "center", "fontsize": 12, "color": "white"}
        axis.text(0.27, 0.72, panel.note, transform=axis.transAxes, **look)
        axis.set_xlabel(points[0].column)
        axis.spines[["top", "right"]].set_visible(False)
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_formatter("{x:,.0f}")
            scale.set_major_locator(MaxNLocator(5, steps=[1, 2.5, 5, 10]))
        axis.autoscale_view()
    axes[0][0].set_ylabel(points[1].column)
    png.save(figure, target)


def _queries(axis: Axes, boxes: Sequence[Box], points: tuple[Range[int], Range[int]]) -> None:
    axis.axvline(points[0].low, color=FIRST, linewidth=2)
    axis.axhline(points[1].low, color=SECOND, linewidth=2)
    for i, colour in enumerate((FIRST, SECOND)):
        opened = sum(box.holds(i, points[i].low) for box in boxes)
        text = f"{points[i].sql()}: {opened} of {len(boxes)} files"
        axis.text(0, 1.075 - 0.05 * i, text, color=colour, transform=axis.transAxes)


def _boxes(axis: Axes, boxes: Sequence[Box], points: tuple[Range[int], Range[int]]) -> None:
    colours = {(True, True): BOTH, (True, False): FIRST, (False, True): SECOND}

    def fill(box: Box) -> str | None:
        return colours.get((box.holds(0, points[0].low), box.holds(1, points[1].low)))

    rectangles(axis, boxes, fill)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Pages that min/max rules out, as bars: the form in which Impala's text shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.ticker import PercentFormatter

from benchmarks.shared import png
from docs.experiments.lab import Case

COLOURS = ("#9ca3af", "#ea580c", "#2563eb")


def ruled_out(case: Case, layouts: Sequence[str], columns: Sequence[str], target: Path) -> None:
    """Draw one group of bars a column, one bar a layout."""
    figure, axis = pyplot.subplots(figsize=(2.2 + 1.3 * len(columns), 3.6))
    width = 0.8 / len(layouts)
    for i, (layout, colour) in enumerate(zip(layouts, COLOURS, strict=True)):
        at = [c + (i - (len(layouts) - 1) / 2) * width for c in range(len(columns))]
        shares = [case.of(layout, column).ruled_out() for column in columns]
        bars = axis.bar(at, shares, width, color=colour, label=layout)
        axis.bar_label(bars, [f"{share:.0%}" for share in shares], fontsize=8)
    axis.set_xticks(range(len(columns)), columns)
    axis.set_ylim(0, 1.05)
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.set_xlabel("column of the point query")
    axis.set_ylabel("pages ruled out")
    axis.spines[["top", "right"]].set_visible(False)
    # above the bars, which may reach the top
    axis.legend(frameon=False, ncols=len(layouts), loc="lower center", bbox_to_anchor=(0.5, 1))
    png.save(figure, target)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of the results: seconds, excess, and the phases of OPTIMIZE."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from benchmarks.shared import png
from benchmarks.speed.gates import where_the_time_goes
from benchmarks.speed.names import COPY, EVERYONE, LEXICAL, OPTIMIZE, PLAIN, PLAIN_UNSORTED
from benchmarks.speed.results import CaseResult, Results
from benchmarks.speed.statistics import seconds

COLOURS = dict(
    zip(
        EVERYONE,
        (
            "#d1d5db",
            "#b8bec8",
            "#9ca3af",
            "#4b5563",
            "#ea580c",
            "#fb923c",
            "#c2410c",
            "#93c5fd",
            "#2563eb",
            "#059669",
            "#6ee7b7",
        ),
        strict=True,
    )
)


def draw(results: Results, folder: Path) -> list[Path]:
    """Write all pictures, and return their paths."""
    named = f"scale_{results.scale:g}.png"
    targets = [folder / f"speed_{what}_{named}" for what in ("seconds", "excess", "phases")]
    _seconds(results, targets[0])
    _excess(results, targets[1])
    _phases(results, targets[2])
    return targets


def _seconds(results: Results, target: Path) -> None:
    figure, axes = pyplot.subplots(
        1, len(results.cases), figsize=(4 * len(results.cases), 4), squeeze=False
    )
    for axis, case in zip(axes[0], results.cases, strict=True):
        ran = [m for m in case.measured if m.runs]
        spreads = [seconds(m) for m in ran]
        middles = [s.median for s in spreads]
        ends = [
            [s.median - s.low for s in spreads],
            [s.high - s.median for s in spreads],
        ]
        colours = [COLOURS[m.contender] for m in ran]
        axis.barh([m.contender for m in ran], middles, xerr=ends, color=colours, capsize=3)
        axis.invert_yaxis()
        _title(axis, case)
        axis.set_xlabel("seconds: median, min to max of the rounds")
    png.save(figure, target)


def _excess(results: Results, target: Path) -> None:
    figure, axes = pyplot.subplots(
        1, len(results.cases), figsize=(4.5 * len(results.cases), 4.5), squeeze=False
    )
    for axis, case in zip(axes[0], results.cases, strict=True):
        drawn = [m for m in case.measured if m.contender not in (COPY, PLAIN, PLAIN_UNSORTED)]
        width = 0.8 / max(1, len(drawn))
        axis.axhline(1, color="black", linewidth=1)
        for i, m in enumerate(drawn):
            excess = [case.excess(s) for s in m.shares if s.level == "files"]
            places = [at + i * width for at in range(len(excess))]
            axis.scatter(places, excess, s=45, color=COLOURS[m.contender], label=m.contender)
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xticks([at + 0.4 - width / 2 for at in range(len(case.columns))])
        axis.set_xticklabels(case.columns, fontsize=8, rotation=20)
        axis.set_xlim(-0.5, len(case.columns) + 0.3)
        _title(axis, case)
    axes[0][0].set_ylabel("files of a point query / ideal")
    axes[0][-1].legend(fontsize=8, bbox_to_anchor=(1, 1), loc="upper left")
    png.save(figure, target)


def _phases(results: Results, target: Path) -> None:
    figure, axis = pyplot.subplots(figsize=(9, max(4.0, 1.6 + 0.7 * len(results.cases))))
    cases = [c for c in results.cases if (m := c.of(OPTIMIZE)) is not None and m.runs]
    parts = {c.case: where_the_time_goes(m) for c in cases if (m := c.of(OPTIMIZE)) is not None}
    names = list(dict.fromkeys(name for part in parts.values() for name in part))
    colour = pyplot.get_cmap("tab20")
    left = dict.fromkeys(parts, 0.0)
    for i, name in enumerate(names):
        took = [part.get(name, 0.0) for part in parts.values()]
        axis.barh(list(parts), took, left=list(left.values()), color=colour(i), label=name)
        left = {case: left[case] + parts[case].get(name, 0.0) for case in parts}
    for at, case in enumerate(cases):
        for name, line in ((COPY, ":"), (PLAIN, "--"), (LEXICAL, "-")):
            base = case.of(name)
            if base and base.runs:
                middle = seconds(base).median
                label = name if at == 0 else None
                axis.plot([middle] * 2, [at - 0.4, at + 0.4], line, color="black", label=label)
    axis.invert_yaxis()
    axis.set_xlabel(f"seconds of {OPTIMIZE} by phase (medians)")
    axis.legend(fontsize=8, bbox_to_anchor=(1, 1), loc="upper left")
    png.save(figure, target)


def _title(axis: Axes, case: CaseResult) -> None:
    axis.set_title(f"{case.table}, {len(case.columns)} columns", fontsize=10, fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)

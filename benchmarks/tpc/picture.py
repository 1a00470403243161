# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A picture of the share of bytes that each query reads, by contender."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot

from benchmarks.shared import png
from benchmarks.tpc.report import TITLES
from benchmarks.tpc.results import (
    ALONE,
    AUTO,
    BY_HAND,
    GENERATED,
    OURS,
    PARTITIONED,
    PLAIN,
    Results,
)

STYLES = {
    AUTO: ("#ea580c", "OPTIMIZE ... ZORDER BY AUTO, no partitions"),
    OURS: ("#ea580c", "OPTIMIZE ... ZORDER BY and the skipping index"),
    BY_HAND: ("#fdba74", "OPTIMIZE ... ZORDER BY (date, item), no partitions"),
    GENERATED: ("#93c5fd", "order of the generator and the skipping index"),
    "delta": ("#ea580c", "Delta with spark-zorder"),
    ALONE["delta"]: ("#fdba74", "Delta alone, the same files"),
    "iceberg": ("#2563eb", "Iceberg with spark-zorder"),
    ALONE["iceberg"]: ("#93c5fd", "Iceberg alone, the same files"),
    PARTITIONED: ("#4b5563", "partitioned by date, Spark's dynamic partition pruning"),
}


def draw(results: Results, target: Path) -> Path:
    """Write the picture; each curve has the queries in the order of their shares."""
    names = results.workloads()
    figure, axes = pyplot.subplots(1, len(names), figsize=(5.5 * len(names), 4), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        measured = results.of(name)
        axis.axhline(100, color="#d1d5db", linewidth=1)
        for contender in measured.contenders():
            if contender == PLAIN:
                continue
            shares = sorted(100 * q.share(contender) for q in measured.on_facts())
            colour, label = STYLES[contender]
            total = f"{label}: {measured.byte_share(contender):.0%} of the bytes"
            axis.step(range(1, len(shares) + 1), shares, where="mid", color=colour, label=total)
        axis.set_title(f"{TITLES[name]}, scale {results.facts['scale']}", fontsize=10)
        axis.set_xlabel("queries, the best first")
        axis.set_ylabel("% of the bytes of the scanned tables")
        axis.set_ylim(0, 105)
        axis.locator_params(axis="x", integer=True)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.15), frameon=False)
    png.save(figure, target)
    return target

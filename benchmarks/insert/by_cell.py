# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Simulate equal inserts by a grid; compare merging of whole runs with merging cell by cell.

Every insert brings one file to each cell. A run of `s` inserts in a cell is cut into `s` files, of
which a point query on one of two columns reads the square root. Nothing is written or timed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from statistics import mean

from benchmarks.shared.markdown import table

CELLS = 64
INSERTS = 64
EVERY = 8

Runs = list[int]


@dataclass
class Outcome:
    """Bytes that merges wrote, in inserts; the excess after each OPTIMIZE."""

    written: float = 0
    after: list[float] = field(default_factory=list)

    def line(self, rule: str, limit: float) -> list[str]:
        """Return a line of the table."""
        numbers = [limit, self.written / INSERTS, mean(self.after), max(self.after)]
        return [rule, *(f"{n:.2f}" for n in numbers)]


def main() -> None:
    """Print a line for each rule and each excess that the rule allows."""
    lines = []
    for limit in (1.6, 1.8, 2.0, 2.2, 2.5):
        lines += [
            simulate(1, limit).line("whole runs", limit),
            simulate(CELLS, limit).line("cell by cell", limit),
        ]
    print(table(["merged", "limit", "written, of inserted", "excess, mean", "largest"], lines))


def simulate(parts: int, limit: float) -> Outcome:
    """Insert and merge; with one part, all cells are merged together."""
    cells: list[Runs] = [[] for _ in range(parts)]
    outcome = Outcome()
    for insert in range(1, INSERTS + 1):
        for runs in cells:
            runs.append(1)
        if insert % EVERY == 0:
            while _excess(cells) > limit:
                outcome.written += _merge(cells, limit) / parts
            outcome.after.append(_excess(cells))
    return outcome


def _merge(cells: list[Runs], limit: float) -> int:
    """Merge some runs of one part, as the merge rule chooses; return their size."""
    best: tuple[tuple[bool, float], int, Runs, Runs] | None = None
    # parts with the same runs are the same choice
    for number in {tuple(runs): i for i, runs in enumerate(cells)}.values():
        runs = sorted(cells[number])
        for low, high in combinations(range(len(runs) + 1), 2):
            chosen = runs[low:high]
            if len(chosen) > 1:
                left = [*runs[:low], *runs[high:], sum(chosen)]
                saved = (_files(chosen) - sqrt(sum(chosen))) / sum(chosen)
                # whole runs are merged once: the choice has to reach the limit
                worth = (len(cells) > 1 or _excess([left]) <= limit, saved)
                if best is None or worth > best[0]:
                    best = (worth, number, left, chosen)
    assert best is not None
    cells[best[1]] = best[2]
    return sum(best[3])


def _files(runs: Runs) -> float:
    return sum(sqrt(size) for size in runs)


def _excess(cells: list[Runs]) -> float:
    return sum(_files(runs) for runs in cells) / sum(sqrt(sum(runs)) for runs in cells)


if __name__ == "__main__":
    main()

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The results: plain data, one JSON file for each run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One run of one contender; bytes and milliseconds are sums over its Spark tasks."""

    round: int
    seconds: float
    files: int
    bytes: int
    shuffle_bytes: int = 0
    spilled_bytes: int = 0
    gc_millis: int = 0
    # only OPTIMIZE tells these
    phases: dict[str, int] = field(default_factory=dict)
    sampled_rows: int = 0
    # of the whole process; 0 in results of before this was measured
    cpu_seconds: float = 0.0
    # of its tasks alone; likewise
    task_cpu_seconds: float = 0.0


# the level of files that a table format's own scan reads, by what its metadata says
SCAN = "files by its scan"


@dataclass(frozen=True)
class Share:
    """The mean share of units that a point query on a column must read, by min/max."""

    column: str
    level: str
    units: int
    fraction: float

    def excess(self, columns: int, partitions: int = 1) -> float:
        """Return the share divided by the ideal one of a layout by so many columns.

        Partitions count as equally large, and each has a layout of its own.
        """
        return self.fraction / float((self.units / partitions) ** (-1 / columns))


@dataclass(frozen=True)
class Measured:
    """
    One contender in one case; the warm-up round is not among the runs.

    The cold runs were each the first statement of a process of their own.
    """

    contender: str
    runs: Sequence[Run]
    shares: Sequence[Share]
    cold: Sequence[Run] = ()


@dataclass(frozen=True)
class CaseResult:
    """All contenders on one table laid out by some columns."""

    case: str
    table: str
    columns: Sequence[str]
    rows: int
    files: int
    bytes: int
    measured: Sequence[Measured]
    partitions: int = 1

    def excess(self, share: Share) -> float:
        """Return the excess of a share of this case."""
        return share.excess(len(self.columns), self.partitions)

    def of(self, contender: str) -> Measured | None:
        """Return what one contender did, if it took part."""
        return next((m for m in self.measured if m.contender == contender), None)


@dataclass(frozen=True)
class Results:
    """One run of the benchmark."""

    command: str
    scale: float
    rounds: int
    machine: dict[str, str]
    cases: Sequence[CaseResult]

    def save(self, target: Path) -> None:
        """Write the results as JSON."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(asdict(self), indent=1) + "\n")


def load(source: Path) -> Results:
    """Read a file that `save` has written."""
    read = json.loads(source.read_text())
    return Results(**{**read, "cases": [_case(c) for c in read["cases"]]})


def _case(read: dict[str, Any]) -> CaseResult:
    return CaseResult(**{**read, "measured": [_measured(m) for m in read["measured"]]})


def _measured(read: dict[str, Any]) -> Measured:
    runs = [Run(**run) for run in read["runs"]]
    cold = tuple(Run(**run) for run in read.get("cold", []))
    return Measured(read["contender"], runs, [Share(**share) for share in read["shares"]], cold)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Medians and spreads, and ratios of runs of the same round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.speed.names import PHASES
from benchmarks.speed.results import Measured, Run


@dataclass(frozen=True)
class Spread:
    """The quartiles of some numbers."""

    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


def spread(numbers: Sequence[float]) -> Spread:
    """Return the spread of one or more numbers."""
    if len(numbers) == 1:
        return Spread(*[numbers[0]] * 5)
    quarter, _, three_quarters = quantiles(numbers, n=4, method="inclusive")
    return Spread(min(numbers), quarter, median(numbers), three_quarters, max(numbers))


def seconds(measured: Measured) -> Spread:
    """Return the spread of a contender's seconds."""
    return spread([run.seconds for run in measured.runs])


def cpu_seconds(runs: Sequence[Run]) -> Spread:
    """Return the spread of the processor seconds of some runs."""
    return spread([run.cpu_seconds for run in runs])


def cpu_ratio(runs: Sequence[Run], base: Sequence[Run]) -> Spread | None:
    """
    Return the spread of the ratios of processor seconds, round by round.

    None if the base did not run, or ran before processor seconds were measured.
    """
    bases = {run.round: run.cpu_seconds for run in base if run.cpu_seconds}
    both = [run.cpu_seconds / bases[run.round] for run in runs if run.round in bases]
    return spread(both) if both else None


def wall_ratio(runs: Sequence[Run], base: Sequence[Run]) -> Spread:
    """Return the spread of the ratios of seconds, round by round."""
    bases = {run.round: run.seconds for run in base}
    return spread([run.seconds / bases[run.round] for run in runs if run.round in bases])


def middle_bytes(measured: Measured) -> float:
    """Return the median size of what a contender wrote."""
    return median(run.bytes for run in measured.runs)


def phase_millis(measured: Measured) -> dict[str, float]:
    """Return the median of each phase, in the order of a run; phases not known here come last."""
    told = dict.fromkeys(name for run in measured.runs for name in run.phases)
    names = [*(name for name in PHASES if name in told), *(n for n in told if n not in PHASES)]
    return {name: median(run.phases.get(name, 0) for run in measured.runs) for name in names}


def share_of_phase(measured: Measured, phase: str) -> Spread:
    """Return the spread of a phase's share of the wall time, run by run."""
    return spread([run.phases.get(phase, 0) / 1000 / run.seconds for run in measured.runs])

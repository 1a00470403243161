# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The gates: numbers and limits that the benchmark checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.speed.names import (
    LEXICAL,
    OPTIMIZE,
    OURS_IN_FORMATS,
    PEERS,
    PLAIN,
    PLAIN_UNSORTED,
)
from benchmarks.speed.results import SCAN, CaseResult, Measured, Results
from benchmarks.speed.statistics import (
    cpu_ratio,
    middle_bytes,
    phase_millis,
    seconds,
    share_of_phase,
    wall_ratio,
)

# processor seconds: the wall clock of a shared machine varies by a fifth
CPU = {PLAIN: 1.20, PLAIN_UNSORTED: 1.30, LEXICAL: 0.85, **dict.fromkeys(PEERS, 0.45)}
COLD = 1.30
# of our commit to a table format, beside the command of the format
WALL_IN_FORMATS, CPU_IN_FORMATS, EXCESS_OF_SCANS = 0.50, 0.45, 1.06
SAMPLING = 0.12
BYTES = 1.08
ACROSS_SCALES = 1.15


@dataclass(frozen=True)
class Gate:
    """A number with its upper limit."""

    case: str
    what: str
    limit: float
    value: float

    def holds(self) -> bool:
        """Tell whether the number is within its limit."""
        return self.value <= self.limit


def of_case(case: CaseResult) -> list[Gate]:
    """Return the gates of one case."""
    ours = case.of(OPTIMIZE)
    plain = list(_gates(case, ours)) if ours and ours.runs else []
    return [*plain, *(gate for name in OURS_IN_FORMATS for gate in _in_format(case, name))]


def _in_format(case: CaseResult, name: str) -> Iterator[Gate]:
    ours = case.of(name)
    if not ours or not ours.runs:
        return
    for peer in OURS_IN_FORMATS[name]:
        theirs = case.of(peer)
        if theirs and theirs.runs:
            wall = wall_ratio(ours.runs, theirs.runs).median
            yield Gate(case.case, f"seconds of {name} / {peer}", WALL_IN_FORMATS, wall)
            cpu = cpu_ratio(ours.runs, theirs.runs)
            if cpu:
                what = f"processor seconds of {name} / {peer}"
                yield Gate(case.case, what, CPU_IN_FORMATS, cpu.median)
    excess = [case.excess(share) for share in ours.shares if share.level == SCAN]
    what = f"files that scans of {name} read / ideal, geometric mean of the columns"
    yield Gate(case.case, what, EXCESS_OF_SCANS, geometric_mean(excess))


def _gates(case: CaseResult, ours: Measured) -> Iterator[Gate]:
    for name, limit in CPU.items():
        base = case.of(name)
        found = cpu_ratio(ours.runs, base.runs) if base else None
        if found:
            what = f"processor seconds of {OPTIMIZE} / {name}, median of rounds"
            yield Gate(case.case, what, limit, found.median)
    plain = case.of(PLAIN)
    found = cpu_ratio(ours.cold, plain.cold) if plain else None
    if found:
        what = f"processor seconds of {OPTIMIZE} / {PLAIN}, cold"
        yield Gate(case.case, what, COLD, found.median)
    share = share_of_phase(ours, "sample").median
    yield Gate(case.case, "the sampling pass's share of the seconds", SAMPLING, share)
    lexical = case.of(LEXICAL)
    if lexical and lexical.runs:
        size = middle_bytes(ours) / middle_bytes(lexical)
        yield Gate(case.case, f"bytes of {OPTIMIZE} / {LEXICAL}", BYTES, size)


def across_scales(small: Results, large: Results) -> list[Gate]:
    """Return the gates that compare a run with a run at a smaller scale factor."""
    gates = []
    for case in large.cases:
        base = next((c for c in small.cases if c.case == case.case), None)
        ours, before = case.of(OPTIMIZE), base.of(OPTIMIZE) if base else None
        if not base or not ours or not before or not ours.runs or not before.runs:
            continue
        a_row = (seconds(ours).median / case.rows) / (seconds(before).median / base.rows)
        what = f"seconds a row of {OPTIMIZE}, scale {large.scale:g} / {small.scale:g}"
        gates.append(Gate(case.case, what, ACROSS_SCALES, a_row))
        shares = [share_of_phase(m, "sample").median for m in (ours, before)]
        what = f"the sampling pass's share, scale {large.scale:g} / {small.scale:g}"
        if shares[1]:
            gates.append(Gate(case.case, what, 1.0, shares[0] / shares[1]))
    return gates


def where_the_time_goes(measured: Measured) -> dict[str, float]:
    """Return the seconds of each phase, and the rest."""
    phases = {name: millis / 1000 for name, millis in phase_millis(measured).items()}
    rest = seconds(measured).median - sum(phases.values())
    return {**phases, "rest": max(0.0, rest)}

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The report in Markdown: tables and gates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.shared.markdown import table
from benchmarks.speed.gates import Gate, of_case, where_the_time_goes
from benchmarks.speed.names import LEXICAL, OPTIMIZE, PLAIN, PLAIN_UNSORTED
from benchmarks.speed.results import SCAN, CaseResult, Measured, Results, Run
from benchmarks.speed.statistics import (
    cpu_ratio,
    cpu_seconds,
    middle_bytes,
    seconds,
    share_of_phase,
)

LEVELS = ("files", "row groups", "pages", SCAN)


def text(results: Results, across: Iterable[Gate] = ()) -> str:
    """Return the whole report."""
    parts = [f"`{results.command}`", _machine(results)]
    for case in results.cases:
        parts += [_heading(case), times(case), work(case), quality(case), phases(case)]
    judged = [gate for case in results.cases for gate in of_case(case)]
    return "\n\n".join(part for part in [*parts, gates([*judged, *across])] if part)


def times(case: CaseResult) -> str:
    """Return the processor seconds of each contender, their ratios, and the wall seconds."""
    bases = (PLAIN_UNSORTED, PLAIN, LEXICAL)
    rows = []
    for m in _ran(case):
        cpu, wall = cpu_seconds(m.runs), seconds(m)
        rows.append(
            [
                m.contender,
                str(len(m.runs)),
                f"{cpu.median:.2f}",
                f"{cpu.low:.2f} to {cpu.high:.2f}",
                *(_ratio(m.runs, _runs(case, base)) for base in bases),
                f"{wall.median:.2f}",
                f"{wall.low:.2f} to {wall.high:.2f}",
                f"{cpu.median / case.rows * 1e9:,.0f}",
                f"{median(run.task_cpu_seconds for run in m.runs):.2f}",
                f"{cpu_seconds(m.cold).median:.2f}" if m.cold else "",
            ]
        )
    head = ["contender", "rounds", "CPU s", "min to max", *(f"/ {base}" for base in bases)]
    return table(
        [*head, "wall s", "min to max", "CPU ns a row", "tasks' CPU s", "cold, CPU s"], rows
    )


def work(case: CaseResult) -> str:
    """Return the bytes that each contender wrote, shuffled and spilled."""
    rows = []
    for m in _ran(case):
        files = sorted({run.files for run in m.runs})
        rows.append(
            [
                m.contender,
                str(files[0]) if len(files) == 1 else f"{files[0]} to {files[-1]}",
                _megabytes(middle_bytes(m)),
                _megabytes(median(run.shuffle_bytes for run in m.runs)),
                _megabytes(median(run.spilled_bytes for run in m.runs)),
                f"{median(run.gc_millis for run in m.runs) / 1000:.2f}",
            ]
        )
    head = ["contender", "files", "MB", "MB shuffled", "MB spilled to disk", "GC s"]
    return table(head, rows)


def quality(case: CaseResult) -> str:
    """Return the mean read fraction and excess of point queries, by contender and column."""
    rows = []
    for m in case.measured:
        for i, column in enumerate(case.columns):
            by_level = {s.level: s for s in m.shares if s.column == column}
            if not by_level:
                continue
            cells = [m.contender if i == 0 else "", column]
            for level in LEVELS:
                share = by_level.get(level)
                cells += (
                    [f"{share.fraction:.3f} of {share.units:,}", f"{case.excess(share):.2f}"]
                    if share
                    else ["", ""]
                )
            rows.append(cells)
    head = [cell for level in LEVELS for cell in (level, "excess")]
    return table(["contender", "point query on", *head], rows)


def phases(case: CaseResult) -> str:
    """Return the seconds of each phase of OPTIMIZE."""
    ours = case.of(OPTIMIZE)
    if not ours or not ours.runs:
        return ""
    total = seconds(ours).median
    rows = [
        [name, f"{took:.2f}", f"{took / total:.1%}"]
        for name, took in where_the_time_goes(ours).items()
    ]
    share = share_of_phase(ours, "sample")
    sampled = median(run.sampled_rows for run in ours.runs)
    return (
        f"{table([f'phase of {OPTIMIZE}', 'seconds', 'share'], rows)}\n\n"
        f"{sampled:,.0f} rows sampled; the sampling pass takes {share.median:.1%} of the wall time "
        f"({share.low:.1%} to {share.high:.1%} over the rounds)."
    )


def gates(judged: Iterable[Gate]) -> str:
    """Return a table of the gates and their numbers."""
    rows = [
        [g.case, g.what, f"{g.value:.3f}", f"<= {g.limit:.2f}", "pass" if g.holds() else "FAIL"]
        for g in judged
    ]
    return table(["case", "gate", "measured", "limit", ""], rows) if rows else ""


def _heading(case: CaseResult) -> str:
    return (
        f"### {case.case}: `{case.table}` by ({', '.join(case.columns)})\n\n"
        f"{case.rows:,} rows, {_megabytes(case.bytes)} MB, {case.files} files in random order."
    )


def _machine(results: Results) -> str:
    return "; ".join(f"{name} {value}" for name, value in results.machine.items()) + "."


def _ran(case: CaseResult) -> list[Measured]:
    return [m for m in case.measured if m.runs]


def _runs(case: CaseResult, contender: str) -> Sequence[Run]:
    found = case.of(contender)
    return found.runs if found else []


def _ratio(runs: Sequence[Run], base: Sequence[Run]) -> str:
    found = cpu_ratio(runs, base)
    return f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})" if found else ""


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f}"

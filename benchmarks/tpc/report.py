# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The report in Markdown: sums, the ten best and worst queries, and gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.shared.gates import Gate, gates
from benchmarks.shared.markdown import table
from benchmarks.tpc.results import (
    ALONE,
    FORMATS,
    OURS,
    PARTITIONED,
    PLAIN,
    Measured,
    Query,
    Results,
)

TITLES = {"tpcds": "TPC-DS", "tpch": "TPC-H"}


def text(results: Results, every_query: bool = False) -> str:
    """Return the whole report."""
    parts = ["; ".join(f"{name} {value}" for name, value in results.facts.items())]
    for name in results.workloads():
        measured = results.of(name)
        parts += [f"### {TITLES[name]}", sums(measured)]
        if every_query:
            parts += [queries(measured, measured.queries)]
        elif OURS in measured.contenders():
            best = sorted(measured.on_facts(), key=lambda q: q.share(OURS))
            parts += ["The ten best queries:", queries(measured, best[:10])]
            parts += ["The ten worst queries:", queries(measured, best[-10:])]
    parts += [wrong(results)]
    return "\n\n".join(part for part in [*parts, gates(judged(results), digits=".3g")] if part)


def sums(measured: Measured) -> str:
    """Return the sums over all queries of a workload, by contender."""
    rows = []
    for name in measured.contenders():
        runs, wholes = measured.runs(name), measured.wholes(name)
        rows.append(
            [
                name,
                f"{sum(r.files for r in runs):,} of {sum(r.all_files for r in wholes):,}",
                f"{measured.file_share(name):.1%}",
                f"{sum(r.bytes for r in runs) / 1e6:,.0f}",
                f"{measured.byte_share(name):.1%}",
                f"{measured.mean_share(name):.1%}",
                f"{measured.pruned(name)} of {len(runs)}",
                f"{sum(r.scanned_bytes for r in runs) / 1e6:,.0f}",
                f"{measured.seconds(name):.1f}",
                f"{measured.cpu_seconds(name):.1f}",
                f"{1000 * measured.plan_seconds(name):.0f}",
            ]
        )
    head = ["", "files read", "share", "MB of them", "share", "geometric mean"]
    head += ["queries that skip files", "MB scanned", "seconds", "processor s", "ms of planning"]
    return table(head, rows)


def queries(measured: Measured, chosen: Sequence[Query]) -> str:
    """Return files, bytes and seconds of some queries, by contender."""
    names = measured.contenders()
    rows = []
    for query in chosen:
        shares = [f"{query.share(n):.1%}" if query.reads_facts else "" for n in names]
        files = [f"{r.files:,}" for r in query.runs.values()]
        seconds = [f"{r.seconds:.2f}" for r in query.runs.values()]
        rows.append([query.name, *files, *shares[1:], *seconds])
    head = [f"files, {name}" for name in names] + [f"bytes, {name}" for name in names[1:]]
    return table(["query", *head, *(f"s, {name}" for name in names)], rows)


def wrong(results: Results) -> str:
    """Return what differs from Spark without the index, and what Spark refused."""
    lines = [
        f"- {q.workload} {q.name}, {run.contender}: {run.difference}"
        for q in results.queries
        for run in q.runs.values()
        if run.difference
    ]
    lines += [f"- {q.workload} {q.name} did not run: {q.error}" for q in results.refused()]
    return "\n".join(lines)


def judged(results: Results) -> Iterator[Gate]:
    """Return the gates of this run."""
    for name in results.workloads():
        measured = results.of(name)
        title = TITLES[name]
        yield from _formats(title, measured)
        if not {PLAIN, OURS} <= set(measured.contenders()):
            continue
        different = sum(r.difference is not None for q in measured.queries for r in q.runs.values())
        yield Gate(f"{title}: results with other rows", different, 0)
        yield Gate(f"{title}: queries that read more files", len(measured.more_files()), 0)
        if name == "tpch":
            yield Gate(f"{title}: share of the files read", measured.file_share(OURS), 0.60)
        elif PARTITIONED in measured.contenders():
            let_go = (1 - measured.byte_share(OURS)) / (1 - measured.byte_share(PARTITIONED))
            yield Gate(f"{title}: share of the bytes read", measured.byte_share(OURS), 0.67)
            what = "bytes skipped / bytes skipped by partitions"
            yield Gate(f"{title}: {what}", let_go, 0.5, at_least=True)
        yield from _reuse(title, measured)
        # one round says nothing of seconds
        if all(len(run.rounds) > 1 for run in measured.runs(OURS)):
            yield from _seconds(title, measured)


def _formats(title: str, measured: Measured) -> Iterator[Gate]:
    for name in FORMATS:
        alone = ALONE[name]
        if not {name, alone} <= set(measured.contenders()):
            continue
        of = f"{title}, {name}"
        different = sum(q.runs[name].difference is not None for q in measured.queries)
        yield Gate(f"{of}: results with other rows", different, 0)
        yield Gate(f"{of}: share of the bytes read", measured.byte_share(name), 0.5)
        yield Gate(f"{of}: queries that read more files", len(measured.more_files(name, alone)), 0)
        if all(len(run.rounds) > 1 for run in measured.runs(name)):
            ratio = measured.seconds(name) / measured.seconds(alone)
            yield Gate(f"{of}: seconds with us / alone", ratio, 1)


def _seconds(title: str, measured: Measured) -> Iterator[Gate]:
    seconds = measured.seconds(OURS) / measured.seconds(PLAIN)
    yield Gate(f"{title}: seconds with index / without", seconds, 1)
    slower = measured.slower()
    names = f" ({', '.join(q.name for q in slower)})" if slower else ""
    yield Gate(f"{title}: queries slower in all rounds{names}", len(slower), 0)


def _reuse(title: str, measured: Measured) -> Iterator[Gate]:
    """Exchanges that a query computes are more where one is no longer reused."""
    more = [q.name for q in measured.queries if q.runs[OURS].exchanges > q.runs[PLAIN].exchanges]
    names = f" ({', '.join(more)})" if more else ""
    yield Gate(f"{title}: queries that compute more exchanges{names}", len(more), 0)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The report in Markdown: tables and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.planning.measure import HELD, NEW, NO_FILTER, NO_USE
from benchmarks.planning.results import OURS, SPARK, Results
from benchmarks.shared.gates import Gate, gates
from benchmarks.shared.markdown import table
from benchmarks.speed.statistics import Spread, spread


def text(results: Results) -> str:
    """Return the whole report."""
    machine = "; ".join(f"{name} {value}" for name, value in results.machine.items())
    parts = [f"`{results.command}`", f"{machine}.", queries(results)]
    parts += [index(results.index)] if results.index else []
    return "\n\n".join([*parts, gates(judged(results))])


def queries(results: Results) -> str:
    """Return medians and spreads of all times, and their ratios to Spark alone."""
    rows = []
    for m in results.measured:
        s = spread(m.millis)
        ratio = results.ratio(m.what, m.files, m.contender) if m.contender != SPARK else None
        rows.append(
            [
                m.what,
                m.contender,
                f"{m.files:,}",
                str(len(m.millis)),
                f"{s.median:,.1f}",
                f"{s.low:,.1f} to {s.high:,.1f}",
                _spread(ratio) if ratio else "",
            ]
        )
    return table(["", "", "files", "rounds", "ms", "min to max", "Spark takes so many times"], rows)


def index(measured: Sequence[Mapping[str, Sequence[float]]]) -> str:
    """Return the time and memory of the index alone, by number of files."""
    rows = []
    for one in measured:
        rows.append(
            [
                f"{one['files'][0]:,.0f}",
                f"{one['disk'][0]:.0f}",
                f"{one['heap'][0]:.0f}",
                _spread(spread(one["load"])),
                _spread(spread(one["new listing"])),
                _spread(spread(one["held listing"])),
                " + ".join(
                    f"{spread(one[f'held listing: {part}']).median:.2f}"
                    for part in ("compile", "judge", "match")
                ),
            ]
        )
    head = ["files", "bytes of disk a file", "of heap", "load ms"]
    return table(
        [*head, "filter ms, new listing", "held listing", "of that compile + judge + match"], rows
    )


def judged(results: Results) -> Iterator[Gate]:
    """Return the gates of this run."""
    for what in (NO_FILTER, NO_USE):
        more = results.difference(what, _most(results, what))
        if more:
            yield Gate(f"{what}: milliseconds more than Spark alone", more.median, 2)
    for one in results.index:
        yield from _of_index(one)
    for what, limit in ((HELD, 20), (NEW, 8)):
        files = _most(results, what)
        ratio = results.ratio(what, files, OURS)
        if ratio:
            yield Gate(f"{what}, {files:,} files: Spark / ours", ratio.median, limit, at_least=True)


def _of_index(one: Mapping[str, Sequence[float]]) -> Iterator[Gate]:
    files = one["files"][0]
    limit = {100_000: 2, 1_000_000: 10}.get(int(files))
    if limit is not None:
        what = f"filter of {files:,.0f} files by 4 columns, listing held: milliseconds"
        yield Gate(what, spread(one["held listing"]).median, limit)
        if "two sessions" in one:
            what = f"the same of {files:,.0f} files in two sessions: milliseconds"
            yield Gate(what, spread(one["two sessions"]).median, limit)
    if files == 1_000_000 and "1000 ranges" in one:
        what = "1,000 ranges over 1,000,000 files: milliseconds"
        yield Gate(what, spread(one["1000 ranges"]).median, 300)
    if "heap of paths" in one:
        paths = one["heap of paths"][0] + one["heap of a held listing"][0]
        yield Gate(f"heap of the paths of {files:,.0f} files: bytes a file", paths, 120)
        columns = (one["heap"][0] - one["heap of paths"][0]) / one["columns"][0]
        yield Gate(f"heap of a column of {files:,.0f} files: bytes a file", columns, 40)


def _most(results: Results, what: str) -> int:
    return max((m.files for m in results.measured if m.what == what), default=0)


def _spread(s: Spread) -> str:
    return f"{s.median:,.1f} ({s.low:,.1f} to {s.high:,.1f})"

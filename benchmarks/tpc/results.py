# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The results of `TpcBenchmark`: one JSON file for each run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

PLAIN, OURS = "without index", "with index"
GENERATED, PARTITIONED = "generated order", "partitioned by date"
# of `make bench-auto`
AUTO, BY_HAND = "AUTO", "date and item"
# of a run with table formats: each format by itself, and with us
FORMATS = ("delta", "iceberg")
ALONE = {name: f"{name} alone" for name in FORMATS}

# a query that reads nothing counts as this share in geometric means
LEAST_SHARE = 0.001


@dataclass(frozen=True)
class Run:
    """What one contender did in one query; files and bytes are those of the fact tables."""

    contender: str
    rows: int
    difference: str | None
    rounds: Sequence[float]
    scanned_bytes: int
    files: int
    all_files: int
    bytes: int
    all_bytes: int
    exchanges: int
    subqueries: int
    cpu_rounds: Sequence[float] = ()
    plan_rounds: Sequence[float] = ()

    @property
    def plan_seconds(self) -> float:
        """Return the median of the rounds, until the plan was there that the run began with."""
        return median(self.plan_rounds) if self.plan_rounds else 0.0

    @property
    def cpu_seconds(self) -> float:
        """Return the median of the rounds, in processor time of the whole process."""
        return median(self.cpu_rounds) if self.cpu_rounds else 0.0

    @property
    def seconds(self) -> float:
        """Return the median of the rounds."""
        return median(self.rounds)


@dataclass(frozen=True)
class Query:
    """One query of a workload; it has no runs if Spark refused the query."""

    workload: str
    name: str
    error: str | None
    runs: Mapping[str, Run]

    @property
    def reads_facts(self) -> bool:
        """Tell whether the query scans a fact table."""
        return all(run.all_bytes > 0 for run in self.runs.values())

    def whole(self, contender: str) -> Run:
        """Return the run whose tables are 100 %: a scan that did not run counts as skipped."""
        base = PLAIN if contender == OURS else ALONE.get(contender, contender)
        return self.runs[base if base in self.runs else contender]

    def share(self, contender: str) -> float:
        """Return the share of the bytes of the scanned fact tables that were in files read."""
        return self.runs[contender].bytes / self.whole(contender).all_bytes


@dataclass(frozen=True)
class Results:
    """One run of the benchmark."""

    facts: Mapping[str, str]
    queries: Sequence[Query]

    def workloads(self) -> Sequence[str]:
        """Return the names of the workloads, in their order."""
        return list(dict.fromkeys(q.workload for q in self.queries))

    def of(self, workload: str) -> Measured:
        """Return the queries of a workload that ran."""
        ran = [q for q in self.queries if q.workload == workload and q.runs]
        contenders = max((len(q.runs) for q in ran), default=0)
        return Measured([q for q in ran if len(q.runs) == contenders])

    def refused(self) -> Iterator[Query]:
        """Return the queries that Spark refused."""
        return (q for q in self.queries if q.error)


@dataclass(frozen=True)
class Measured:
    """Queries of one workload that ran."""

    queries: Sequence[Query]

    def contenders(self) -> Sequence[str]:
        """Return the names of the contenders, in their order."""
        return list(self.queries[0].runs) if self.queries else []

    def on_facts(self) -> Sequence[Query]:
        """Return the queries that scan a fact table."""
        return [q for q in self.queries if q.reads_facts]

    def runs(self, contender: str) -> Sequence[Run]:
        """Return the runs of a contender."""
        return [q.runs[contender] for q in self.queries]

    def wholes(self, contender: str) -> Sequence[Run]:
        """Return the runs whose tables are 100 %."""
        return [q.whole(contender) for q in self.queries]

    def byte_share(self, contender: str) -> float:
        """Return the share of bytes read, over the sum of all queries."""
        read = sum(r.bytes for r in self.runs(contender))
        return read / sum(r.all_bytes for r in self.wholes(contender))

    def file_share(self, contender: str) -> float:
        """Return the share of files read, over the sum of all queries."""
        read = sum(r.files for r in self.runs(contender))
        return read / sum(r.all_files for r in self.wholes(contender))

    def mean_share(self, contender: str) -> float:
        """Return the geometric mean of the queries' shares of bytes."""
        shares = [max(q.share(contender), LEAST_SHARE) for q in self.on_facts()]
        return exp(sum(map(log, shares)) / len(shares))

    def seconds(self, contender: str) -> float:
        """Return the sum of the queries' medians."""
        return sum(r.seconds for r in self.runs(contender))

    def cpu_seconds(self, contender: str) -> float:
        """Return the sum of the queries' medians of processor time."""
        return sum(r.cpu_seconds for r in self.runs(contender))

    def plan_seconds(self, contender: str) -> float:
        """Return the mean over the queries of their medians of seconds of planning."""
        runs = self.runs(contender)
        return sum(r.plan_seconds for r in runs) / len(runs)

    def pruned(self, contender: str) -> int:
        """Return how many queries did not read all files."""
        wholes = self.wholes(contender)
        both = zip(self.runs(contender), wholes, strict=True)
        return sum(run.files < whole.all_files for run, whole in both)

    def more_files(self, ours: str = OURS, plain: str = PLAIN) -> Sequence[Query]:
        """Return the queries that read more files with us than without."""
        return [q for q in self.queries if q.runs[ours].files > q.runs[plain].files]

    def slower(self, ours: str = OURS, plain: str = PLAIN) -> Sequence[Query]:
        """Return the queries whose fastest round with us is slower than all without."""
        return [q for q in self.queries if min(q.runs[ours].rounds) > max(q.runs[plain].rounds)]


def load(sources: Sequence[Path]) -> Results:
    """Read the files of runs; contenders and queries of a later file are added to the first."""
    facts: dict[str, str] = {}
    found: dict[tuple[str, str], Query] = {}
    for source in sources:
        read = json.loads(source.read_text())
        facts = {**read["facts"], **facts}
        for query in map(_query, read["queries"]):
            key = (query.workload, query.name)
            first = found.get(key)
            runs = {**first.runs, **query.runs} if first else query.runs
            found[key] = Query(*key, query.error, runs)
    return Results(facts, list(found.values()))


def _query(read: dict[str, Any]) -> Query:
    runs = {m["contender"]: _run(m) for m in read["measured"]}
    return Query(read["workload"], read["query"], read["error"], runs)


def _run(read: dict[str, Any]) -> Run:
    scans = read["plan"]["scans"]

    def total(key: str) -> int:
        return sum(scan[key] for scan in scans)

    return Run(
        read["contender"],
        read["rows"],
        read["difference"],
        read["seconds"],
        read["scannedBytes"],
        total("files"),
        total("allFiles"),
        total("bytes"),
        total("allBytes"),
        read["plan"]["exchanges"],
        read["plan"]["subqueries"],
        # earlier runs did not measure it
        read.get("cpuSeconds", ()),
        read.get("planSeconds", ()),
    )

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Alternating rounds: everybody once a round, each time in another order."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from benchmarks.shared import same_rows
from benchmarks.speed import names, quality
from benchmarks.speed.cases import Case
from benchmarks.speed.contenders import Contender, Job, Ready
from benchmarks.speed.results import CaseResult, Measured, Run, Share
from benchmarks.speed.tables import Table, bytes_in, rows_in
from benchmarks.speed.work import Meter, Work

# the round that does not count; the first output of each contender is judged
WARM_UP = 0


@dataclass
class Rounds:
    """One case: its contenders, how many rounds each takes part in, and what they have done."""

    spark: SparkSession
    case: Case
    table: Table
    contenders: Mapping[str, Contender]
    last_round: Mapping[str, int]
    scratch: Path
    warm_up: bool = True
    _runs: dict[str, list[Run]] = field(default_factory=dict)
    _shares: dict[str, list[Share]] = field(default_factory=dict)

    def run(self) -> CaseResult:
        """Run all rounds."""
        self._values = quality.sampled_values(self.table.data_files(), self.case.columns)
        self._meter = Meter(self.spark)
        first = WARM_UP if self.warm_up else WARM_UP + 1
        for turn in range(first, max(self.last_round.values()) + 1):
            for name in in_turn(list(self.contenders), turn):
                if turn <= self.last_round[name]:
                    self._one(name, turn)
        return CaseResult(
            self.case.name,
            self.case.source.table,
            self.case.columns,
            self.table.rows,
            self.table.files,
            self.table.bytes,
            [Measured(n, self._runs.get(n, []), shares) for n, shares in self._judged()],
            self.table.partitions(),
        )

    def _judged(self) -> list[tuple[str, list[Share]]]:
        return [(n, self._shares[n]) for n in self.contenders if n in self._shares]

    def _one(self, name: str, turn: int) -> None:
        folder = self.scratch / f"{self.case.name}-{name}-{turn}-{time.time_ns()}"
        folder.mkdir(parents=True)
        try:
            ready = self.contenders[name](Job(self.spark, self.case, self.table, folder))
            self._quiet()
            start = time.perf_counter()
            rows = ready.run()
            seconds = time.perf_counter() - start
            work = self._meter.read()
            files = self._checked(name, ready)
            run = _described(turn, seconds, work, files, rows)
            what = "warm-up" if turn == WARM_UP else f"round {turn}"
            print(
                f"{self.case.name} {what}: {name} {seconds:.2f} s, "
                f"{work.cpu_seconds:.2f} s of processors, {work.task_cpu_seconds:.2f} s in tasks, "
                f"{len(files)} files"
            )
            if turn != WARM_UP:
                self._runs.setdefault(name, []).append(run)
            if name not in self._shares:
                self._judge(name, ready, files)
        finally:
            shutil.rmtree(folder)

    def _quiet(self) -> None:
        # nobody pays for what another left behind: garbage, and pages not yet on disk
        self.spark._jvm.System.gc()  # type: ignore[union-attr]
        os.sync()
        self._meter.reset()

    def _checked(self, name: str, ready: Ready) -> Sequence[Path]:
        files = ready.files()
        rows = rows_in(files)
        if rows != self.table.rows:
            raise AssertionError(f"{name} wrote {rows:,} rows of {self.table.rows:,}")
        return files

    def _judge(self, name: str, ready: Ready, files: Sequence[Path]) -> None:
        self._shares[name] = quality.shares(files, self._values)
        if ready.planned:
            self._shares[name] += quality.shares_of_scans(ready.planned, len(files), self._values)
        if name in names.OURS:
            same_rows.check(self.table.data_files(), files)


def _described(
    turn: int, seconds: float, work: Work, files: Sequence[Path], rows: Sequence[Row]
) -> Run:
    told: dict[str, Any] = rows[0].asDict(recursive=True) if rows else {}
    return Run(
        turn,
        seconds,
        len(files),
        bytes_in(files),
        work.shuffle_bytes,
        work.spilled_bytes,
        work.gc_millis,
        dict(told.get("phases") or {}),
        (told.get("metrics") or {}).get("sampledRows", 0) if "phases" in told else 0,
        work.cpu_seconds,
        work.task_cpu_seconds,
    )


def in_turn(contenders: Sequence[str], turn: int) -> list[str]:
    """Return the order of a round: everybody moves up by one, and the first becomes the last."""
    first = turn % len(contenders)
    return [*contenders[first:], *contenders[:first]]

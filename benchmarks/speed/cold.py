# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Cold runs: each contender is the first statement of a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.speed import results
from benchmarks.speed.names import LEXICAL, OPTIMIZE, PLAIN
from benchmarks.speed.results import CaseResult, Run

# the peers need other sessions, with catalogs of their own
CONTENDERS = (PLAIN, LEXICAL, OPTIMIZE)


def with_cold_runs(case: CaseResult, options: argparse.Namespace) -> CaseResult:
    """Return the case with the cold runs of those contenders that took part and have some."""
    measured = [
        replace(m, cold=tuple(_runs(case.case, m.contender, options)))
        if m.contender in CONTENDERS
        else m
        for m in case.measured
    ]
    return replace(case, measured=measured)


def _runs(case: str, contender: str, options: argparse.Namespace) -> Iterator[Run]:
    for turn in range(1, options.cold_rounds + 1):
        with TemporaryDirectory(prefix="speed-cold-", dir=options.scratch.parent) as folder:
            saved = Path(folder) / "results.json"
            subprocess.run(_command(case, contender, options, saved), check=True, stdout=sys.stderr)
            (found,) = results.load(saved).cases
        for measured in found.measured:
            yield replace(measured.runs[0], round=turn)


def _command(case: str, contender: str, options: argparse.Namespace, saved: Path) -> list[str]:
    chosen = {
        "--scale": options.scale,
        "--cases": case,
        "--contenders": contender,
        "--rounds": 1,
        "--cold-rounds": 0,
        "--data": options.data,
        "--scratch": saved.parent,
        "--results": saved,
        "--plots": saved.parent,
        "--cores": options.cores,
        "--heap": options.heap,
    }
    words = [str(word) for pair in chosen.items() for word in pair]
    return [sys.executable, "-m", "benchmarks.speed", "--no-warm-up", "--no-peers", *words]

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.speed``: what OPTIMIZE costs, and what it and its peers achieve."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from benchmarks.speed import gates, machine, names, plots, report, results, session
from benchmarks.speed.cases import CASES
from benchmarks.speed.cold import with_cold_runs
from benchmarks.speed.contenders import Contender, ours_and_limits
from benchmarks.speed.options import PROGRAM, parse
from benchmarks.speed.peers import of_formats
from benchmarks.speed.results import CaseResult, Results
from benchmarks.speed.rounds import Rounds
from benchmarks.speed.tables import unordered


def main() -> None:
    """Run the measurements, or print the results of an earlier run."""
    options = parse()
    # in a pipe too, each run is seen when it is done
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    measured = results.load(options.report) if options.report else _measure(options)
    across = gates.across_scales(results.load(options.against), measured) if options.against else []
    print(f"\n{report.text(measured, across)}")
    for picture in plots.draw(measured, options.plots):
        print(f"\npicture: {picture}", end="")
    print()


def _measure(options: argparse.Namespace) -> Results:
    scratch: Path = options.scratch.absolute()
    _empty(scratch)
    size = session.Machine(options.cores, options.heap)
    contenders = _contenders(options)
    with_peers = any(name in names.OF_FORMATS for name in contenders)
    spark = session.start(size, scratch, with_peers)
    facts = machine.facts(spark, size, with_peers)
    command = f"{PROGRAM} {shlex.join(sys.argv[1:])}"
    last_round = {
        name: options.peer_rounds if name in names.PEERS else options.rounds for name in contenders
    }
    done: list[CaseResult] = []
    so_far = Results(command, options.scale, options.rounds, facts, done)
    for case in CASES:
        if case.name in options.cases:
            table = unordered(spark, case, options.scale, options.data.absolute())
            warm_up = options.warm_up
            known = names.OF_PARTITIONS if case.partition else names.EVERYONE
            taking_part = {name: contenders[name] for name in contenders if name in known}
            rounds = Rounds(spark, case, table, taking_part, last_round, scratch, warm_up)
            done.append(rounds.run())
            # a later case that fails takes nothing with it
            so_far.save(options.results)
    spark.stop()
    if options.cold_rounds:
        done[:] = [with_cold_runs(case, options) for case in done]
        so_far.save(options.results)
    print(f"\nraw numbers: {options.results}")
    _empty(scratch)
    return so_far


def _contenders(options: argparse.Namespace) -> dict[str, Contender]:
    known = {**ours_and_limits(), **(of_formats() if options.peers else {})}
    return {name: known[name] for name in known if name in options.contenders}


def _empty(scratch: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.speed.cases import CASES
from benchmarks.speed.names import EVERYONE

PROGRAM = "python -m benchmarks.speed"


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    add = parser.add_argument
    add("--scale", type=float, default=1, help="scale factor of the generated tables")
    add("--rounds", type=int, default=5, help="that count")
    add(
        "--warm-up",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="a round that does not count; large tables can do without",
    )
    add("--peer-rounds", type=int, help="fewer rounds for table formats")
    add(
        "--cold-rounds",
        type=int,
        default=3,
        help="of statements that are each the first of a process; 0 leaves them out",
    )
    add(
        "--peers",
        action=argparse.BooleanOptionalAction,
        help="Delta Lake and Iceberg, downloaded by Spark; by default up to scale 1",
    )
    names = [case.name for case in CASES]
    add("--cases", nargs="+", choices=names, default=names, metavar="CASE", help=", ".join(names))
    add("--contenders", nargs="+", choices=EVERYONE, default=EVERYONE, metavar="CONTENDER")
    add("--data", type=Path, default=Path("benchmarks/data"), help="generated tables, kept")
    add("--scratch", type=Path, help="for copies and outputs; default: in --data")
    add("--results", type=Path, help="JSON file of this run; default: in --data")
    add("--plots", type=Path, help="folder for pictures; default: in --data")
    add("--cores", type=int, default=2)
    add("--heap", default="4g", help="of the one process that Spark runs in")
    add("--against", type=Path, help="JSON file of a run at a smaller scale, to compare with")
    add("--report", type=Path, help="run nothing: report and draw this JSON file")
    options = parser.parse_args(words)
    if options.peers is None:
        options.peers = options.scale <= 1
    if options.peer_rounds is None:
        options.peer_rounds = options.rounds
    # a folder of its own, since it is deleted before and after
    options.scratch = (options.scratch or options.data) / "speed-scratch"
    options.plots = options.plots or options.data / "plots"
    options.results = options.results or options.data / f"speed-scale-{options.scale:g}.json"
    return options

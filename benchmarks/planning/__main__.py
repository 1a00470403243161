# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.planning``: time to find the files of a query, beside table formats."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from pathlib import Path

from benchmarks.planning import files, measure, report, results
from benchmarks.speed import machine, session

PROGRAM = "python -m benchmarks.planning"
PARTS = ("useless", "listing", "peers", "many")


def main() -> None:
    """Run the measurements, or print the results of an earlier run."""
    options = _options()
    # in a pipe too, each part is seen when it is done
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    found = results.load(options.report) if options.report else _measure(options)
    print(f"\n{report.text(found)}")


def _measure(options: argparse.Namespace) -> results.Results:
    scratch = (options.data / "planning-scratch").absolute()
    shutil.rmtree(scratch, ignore_errors=True)
    counts = (64, options.peer_files, options.files)
    few, some, many = (files.make(options.data, n) for n in counts)
    size = session.Machine(options.cores, options.heap)
    spark = session.start(size, scratch, options.peers)
    facts = machine.facts(spark, size, options.peers)
    command = f"{PROGRAM} {shlex.join(sys.argv[1:])}"
    index = json.loads(options.index.read_text()) if options.index else []
    planning = measure.Planning(spark)
    done: list[results.Measured] = []
    so_far = results.Results(command, facts, done, index)
    for table in (few, some, many):
        planning.index(table)
    # for the compilers
    list(planning.compare(few, 64, 20, None))
    peers = scratch if options.peers else None
    parts = {
        "useless": planning.useless(few, 64, 100),
        "listing": planning.listing(many, options.files, 15),
        "peers": planning.compare(some, options.peer_files, options.rounds, peers),
        "many": planning.compare(many, options.files, options.rounds, None),
    }
    for name in options.parts:
        for measured in parts[name]:
            print(
                f"{measured.what}, {measured.contender}: {[round(m, 1) for m in measured.millis]}"
            )
            done.append(measured)
            so_far.save(options.results)
    print(f"\nraw numbers: {options.results}")
    spark.stop()
    shutil.rmtree(scratch, ignore_errors=True)
    return so_far


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    add = parser.add_argument
    add("--files", type=int, default=100_000, help="of the large table")
    add(
        "--peer-files",
        type=int,
        default=10_000,
        help="of the table that table formats take part in",
    )
    add("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    add("--rounds", type=int, default=3, help="that count, of the slow parts")
    add(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Delta Lake and Iceberg, downloaded by Spark",
    )
    add("--index", type=Path, help="JSON file of SkippingBenchmark, to be reported with the rest")
    add("--data", type=Path, default=Path("benchmarks/data"), help="for the tables, which are kept")
    add("--results", type=Path, help="JSON file of this run; default: in --data")
    add("--cores", type=int, default=2)
    add("--heap", default="6g", help="of the one process that Spark runs in")
    add("--report", type=Path, help="run nothing: report this JSON file")
    options = parser.parse_args()
    options.results = options.results or options.data / "planning.json"
    return options


if __name__ == "__main__":
    main()

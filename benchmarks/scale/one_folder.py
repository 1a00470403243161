# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Run OPTIMIZE of a folder larger than a batch: in two passes, and in one shuffle beside it.

The table is ``lineitem`` of TPC-H in one folder. A process of its own runs each statement.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.shared import same_rows
from benchmarks.shared.folders import link, make_once
from benchmarks.shared.heap import most_in_old_generation
from benchmarks.speed.quality import sampled_values, shares
from benchmarks.speed.tables import bytes_in
from benchmarks.speed.work import Meter
from spark_zorder import configure
from tests.support import data_files

COLUMNS = ("l_partkey", "l_shipdate")
# of a statement that lays the folder out by one shuffle
WHOLE = "1t"


def main() -> None:
    """Print what each way took."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.one_folder", description=__doc__
    )
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--batch-size", default="1g")
    parser.add_argument("--target-file-size", default="16m")
    parser.add_argument("--heap", default="2g", help="of the one process")
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=["two-passes", "one-shuffle"],
        default=["two-passes", "one-shuffle"],
    )
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(_statement(options.run, options)))
        return
    data: Path = options.data.absolute()
    source = make_once(
        data / f"lineitem-{options.scale:g}-parts", partial(_generate, options.scale)
    )
    inputs = data_files(source)
    values = sampled_values(inputs, COLUMNS)
    results = {}
    for way in options.ways:
        table = data / "one-folder-table"
        shutil.rmtree(table, ignore_errors=True)
        link(source / "lineitem", table)
        size = WHOLE if way == "one-shuffle" else options.batch_size
        with Peak([table, data / "one-folder-local"]) as peak:
            arguments = [*sys.argv[1:], "--batch-size", size, "--run", str(table)]
            command = [sys.executable, "-m", "benchmarks.scale.one_folder", *arguments]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        measured = json.loads(done.stdout.splitlines()[-1])
        outputs = data_files(table)
        found = shares(outputs, values)
        results[way] = {
            "batch size": size,
            "inputs": len(inputs),
            "bytes of inputs": bytes_in(inputs),
            "outputs": len(outputs),
            "bytes of outputs": bytes_in(outputs),
            **measured,
            "peak of bytes on disk, inputs included": peak.bytes,
            "excess of a point query": {
                s.column: round(s.excess(len(COLUMNS)), 3) for s in found if s.level == "files"
            },
            "load": os.getloadavg()[0],
        }
        results[way]["rows, compared by DuckDB"] = same_rows.check(inputs, outputs)
        print(json.dumps({way: results[way]}, indent=1), flush=True)
        shutil.rmtree(table)
    excess = {way: mean(r["excess of a point query"].values()) for way, r in results.items()}
    if len(excess) == 2:
        print(
            f"excess, two passes / one shuffle: {excess['two-passes'] / excess['one-shuffle']:.3f}"
        )
    (data / f"one-folder-{options.scale:g}.json").write_text(json.dumps(results, indent=1))


def _generate(scale: float, folder: Path) -> None:
    """About 16 MB a file, in the order of the generator, which is that of neither column."""
    tool = Path(sys.executable).parent / "tpcgen-cli"
    what = [
        f"--scale-factor={scale:g}",
        "--tables=lineitem",
        f"--parts={max(4, round(13 * scale))}",
    ]
    subprocess.run(
        [tool, "tpch", "parquet", *what, "--quiet", f"--output-dir={folder}"], check=True
    )


def _statement(table: Path, options: argparse.Namespace) -> dict[str, Any]:
    local = table.parent / "one-folder-local"
    spark = configure(
        SparkSession.builder.master("local[2]")
        .appName("one folder")
        .config("spark.driver.memory", options.heap)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.retainedStages", "5000")
        .config("spark.local.dir", str(local))
    ).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    begun = time.perf_counter()
    row = spark.sql(
        f"OPTIMIZE TABLE parquet.`{table}` ZORDER BY ({', '.join(COLUMNS)}) OPTIONS "
        f"('targetFileSize' '{options.target_file_size}', 'batchSize' '{options.batch_size}')"
    ).collect()[0]
    seconds = time.perf_counter() - begun
    stages = Meter(spark).stages()
    shuffles = [s.shuffleWriteBytes() for s in stages]
    measured = {
        "seconds": round(seconds, 1),
        "seconds by phase": {name: millis / 1000 for name, millis in dict(row.phases).items()},
        "batches": row.metrics.numBatches,
        "bytes shuffled": sum(shuffles),
        "the largest shuffle": max(shuffles, default=0),
        "bytes spilled": sum(s.diskBytesSpilled() for s in stages),
        "old generation at most, MB": most_in_old_generation(spark),
    }
    spark.stop()
    shutil.rmtree(local, ignore_errors=True)
    return measured


class Peak:
    """The most bytes that some folders had at once, looked at twice a second."""

    def __init__(self, folders: list[Path]) -> None:
        self.bytes = 0
        self._folders = folders
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.bytes = max(self.bytes, sum(map(_bytes_below, self._folders)))


def _bytes_below(folder: Path) -> int:
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(at, name)).st_size
            except FileNotFoundError:
                # a file that went meanwhile
                continue
    return total


if __name__ == "__main__":
    main()

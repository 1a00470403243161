# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.shuffle``: the shuffle of OPTIMIZE by codec and number of partitions.

Spark takes the codec when it starts, so each has a process of its own; the processes take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.shared import markdown
from benchmarks.shared.folders import link
from benchmarks.speed.cases import CASES
from benchmarks.speed.tables import Table, of
from benchmarks.speed.work import Meter
from spark_zorder import configure

CODECS = ("lz4", "zstd", "snappy")
PARTITIONS = (64, 16, 4)


def main() -> None:
    """Run all codecs in turn, and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shuffle", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--codec", choices=CODECS, help="measure this one, in this process")
    options = parser.parse_args()
    if options.codec:
        print(json.dumps(_measure(options.codec, options.data.absolute())))
        return
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(options.turns):
        for codec in CODECS:
            for what, seconds, megabytes in _in_process(codec, options.data):
                rows.setdefault((codec, what), []).append((seconds, megabytes))
    header = ("codec", "what", "seconds", "min to max", "MB shuffled")
    print(markdown.table(header, [_line(key, runs) for key, runs in rows.items()]))


def _line(key: tuple[str, str], runs: list[tuple[float, float]]) -> tuple[str, ...]:
    seconds = [s for s, _ in runs]
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
    return (*key, f"{median(seconds):.2f}", spread, f"{median(m for _, m in runs):.1f}")


def _in_process(codec: str, data: Path) -> list[tuple[str, float, float]]:
    command = [sys.executable, "-m", "benchmarks.shuffle", "--codec", codec, "--data", str(data)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


def _measure(codec: str, data: Path) -> list[tuple[str, float, float]]:
    table = of(data / "store_sales-1" / "unordered")
    spark = _session(codec, data)
    meter = Meter(spark)
    measured = []
    # the first round warms up
    for counts in (False, True):
        for n in PARTITIONS:
            seconds, megabytes = _timed(meter, lambda n=n: _deal(spark, table, n))
            if counts:
                what = f"deal the rows to {n} partitions, write nothing"
                measured.append((what, seconds, megabytes))
        seconds, megabytes = _optimize(spark, meter, table, data)
        if counts:
            measured.append(("OPTIMIZE", seconds, megabytes))
    spark.stop()
    return measured


def _deal(spark: SparkSession, table: Table, partitions: int) -> None:
    rows = spark.read.parquet(str(table.path))
    rows.repartition(partitions).write.format("noop").mode("overwrite").save()


def _optimize(spark: SparkSession, meter: Meter, table: Table, data: Path) -> tuple[float, float]:
    folder = data / "shuffle-table"
    shutil.rmtree(folder, ignore_errors=True)
    link(table.path, folder)
    statement = (
        f"OPTIMIZE TABLE parquet.`{folder}` ZORDER BY ({', '.join(CASES[0].columns)}) "
        f"OPTIONS ('targetFileSize' '{table.file_bytes()}')"
    )
    try:
        return _timed(meter, lambda: spark.sql(statement).collect())
    finally:
        shutil.rmtree(folder)


def _timed(meter: Meter, body: Any) -> tuple[float, float]:
    os.sync()
    meter.reset()
    start = time.perf_counter()
    body()
    return time.perf_counter() - start, meter.read().shuffle_bytes / 1e6


def _session(codec: str, data: Path) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("spark-zorder shuffle")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.retainedStages", "2000")
        .config("spark.io.compression.codec", codec)
        .config("spark.local.dir", str(data / "local"))
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main()

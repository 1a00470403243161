# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Run OPTIMIZE in 1 GB of heap, where the driver or a task has much to hold."""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.memory import many_files
from benchmarks.shared.folders import link
from benchmarks.shared.heap import most_in_old_generation
from benchmarks.speed.tables import bytes_in, of
from benchmarks.speed.work import Meter
from spark_zorder import configure

HEAP = "1g"


def main() -> None:
    """Print what was run, how long it took and what it held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    spark = _session(options.data)
    _driver(spark, many_files.make(options.data, options.files), options.files)
    _task(spark, options.data)


def _session(data: Path) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("spark-zorder memory")
        .config("spark.driver.memory", HEAP)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(data / "local"))
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _driver(spark: SparkSession, table: Path, files: int) -> None:
    """As many files as there are, listed, sampled and cut, without writing."""
    target = bytes_in([next(table.iterdir())])
    row = _optimize(spark, table, "a, b", target, "DRY RUN")
    print(
        f"driver: {files:,} files to {row.metrics.numFilesAdded:,} files, "
        f"{row.metrics.sampledRows:,} sampled rows, heap {HEAP}: "
        f"{most_in_old_generation(spark)} MB in the old generation at most; "
        f"phases {dict(row.phases)}"
    )


def _task(spark: SparkSession, data: Path) -> None:
    """One file of a whole table: its rows do not fit the memory of a task."""
    source = of(data / "store_sales-1" / "unordered")
    scratch = data / "memory-table"
    shutil.rmtree(scratch, ignore_errors=True)
    table = link(source.path, scratch)
    meter = Meter(spark)
    meter.reset()
    start = time.perf_counter()
    row = _optimize(spark, table, "ss_customer_sk, ss_cdemo_sk", 10 * source.bytes, "")
    seconds = time.perf_counter() - start
    work = meter.read()
    print(
        f"task: {row.metrics.numRows:,} rows in {row.metrics.numFilesAdded} file, heap {HEAP}: "
        f"{work.spilled_bytes / 1e6:,.0f} MB spilled, {seconds:.0f} s"
    )
    shutil.rmtree(scratch)


def _optimize(spark: SparkSession, table: Path, by: str, target: int, rest: str) -> Any:
    return spark.sql(
        f"OPTIMIZE TABLE parquet.`{table.absolute()}` ZORDER BY ({by}) "
        f"OPTIONS ('targetFileSize' '{target}') {rest}"
    ).collect()[0]


if __name__ == "__main__":
    main()

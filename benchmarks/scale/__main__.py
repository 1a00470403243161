# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Run OPTIMIZE of very many files on a standalone cluster: two workers of one core each.

The same statement at a tenth of the files shows which phase grows faster than the files do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.shared import same_rows
from benchmarks.shared.folders import link, make_once
from benchmarks.shared.heap import most_in_old_generation
from benchmarks.speed.work import Meter
from tests.support import cluster, data_files
from tests.support.standalone import Standalone

# the sides of the grid on which the two columns lie
SIDE = 1 << 16
# of the driver and of each executor
HEAP = "1g"


def main() -> None:
    """Print what each run took, by phase, and what the driver held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("benchmarks/data"))
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rows", type=int, default=1000, help="rows of a file")
    parser.add_argument("--into-one", type=int, default=10, help="files that become one file")
    options = parser.parse_args()
    data: Path = options.data.absolute()
    results = []
    for files in options.files:
        source = make_once(
            data / f"scale-{files}-{options.rows}",
            lambda folder, n=files: _fill(folder, n, options.rows),  # type: ignore[misc]
        )
        scratch = data / "scale-table"
        shutil.rmtree(scratch, ignore_errors=True)
        results.append(_run(link(source, scratch), source, data, options.into_one))
        print(json.dumps(results[-1], indent=1), flush=True)
        shutil.rmtree(scratch)
    (data / "scale.json").write_text(json.dumps(results, indent=1))


def _fill(folder: Path, files: int, rows: int) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        of = np.arange(number * rows, (number + 1) * rows, dtype=np.int64)
        # an odd multiplier visits each point of the grid once
        point = of * 2_654_435_761 % SIDE**2
        table = pa.table({"id": of, "a": point // SIDE, "b": point % SIDE})
        pq.write_table(table, folder / f"part-{number:06}.parquet")


def _run(table: Path, source: Path, data: Path, into_one: int) -> dict[str, Any]:
    inputs = sorted(source.iterdir())
    target = sum(file.stat().st_size for file in inputs) * into_one // len(inputs)
    home = data / "scale-cluster"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    with Standalone(home) as started:
        spark = cluster.session(
            home,
            started.url,
            **{
                **started.settings,
                "spark.driver.memory": HEAP,
                "spark.executor.memory": HEAP,
                "spark.eventLog.enabled": "false",
                "spark.local.dir": str(home / "local"),
            },
        )
        spark.sparkContext.setLogLevel("ERROR")
        meter = Meter(spark)
        meter.reset()
        begun = time.perf_counter()
        row = spark.sql(
            f"OPTIMIZE TABLE parquet.`{table}` ZORDER BY (a, b) "
            f"OPTIONS ('targetFileSize' '{target}')"
        ).collect()[0]
        seconds = time.perf_counter() - begun
        work = meter.read()
        held = most_in_old_generation(spark)
        spark.stop()
    shutil.rmtree(home)
    return {
        "inputs": len(inputs),
        "outputs": row.metrics.numFilesAdded,
        "rows": same_rows.check(inputs, data_files(table)),
        "bytes": sum(file.stat().st_size for file in inputs),
        "seconds": round(seconds, 1),
        "tasks' processor seconds": round(work.task_cpu_seconds, 1),
        "driver's processor seconds": round(work.cpu_seconds, 1),
        "driver's old generation at most, MB": held,
        "bytes shuffled": work.shuffle_bytes,
        "sampled rows": row.metrics.sampledRows,
        "milliseconds by phase": dict(row.phases),
        "files of a point query": {
            c.name: (c.filesPerPointQueryAfter, c.ideal) for c in row.columns
        },
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()

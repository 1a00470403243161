# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.needles``: one row by a UUID, in a table that nothing orders by it."""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.needles import files
from benchmarks.speed import machine, session

PROGRAM = "python -m benchmarks.needles"


class Needles:
    """Measurements of one table in one session."""

    def __init__(self, spark: SparkSession, table: Path, count: int, rows: int) -> None:
        self._spark = spark
        self._table = table.absolute()
        self._count = count
        self._rows = rows
        self._random = random.Random(1)
        jvm: Any = spark._jvm
        self._reads = jvm.io.sparkzorder.index.values.PostingsReader
        self._cache = jvm.io.sparkzorder.index.IndexCache
        self._pid = int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]

    def build(self, values: str) -> dict[str, float]:
        """Create the index, and return sizes and times."""
        self._spark.sql(f"DROP IF EXISTS ZORDER INDEX ON '{self._table}'").collect()
        bounds, plain = self._create("")
        self._spark.sql(f"DROP ZORDER INDEX ON '{self._table}'").collect()
        both, row = self._create(f" OPTIONS ('values' '{values}')")
        size = sum(v.bytes for v in row["values"])
        entries = sum(v.entries for v in row["values"])
        cpu = max(0.1, both["cpu s"] - bounds["cpu s"])
        return {
            "values": self._count * self._rows * len(row["values"]),
            "CREATE without values, s": bounds["s"],
            "values, s": row["values"][0].millis / 1000,
            "values, CPU s": cpu,
            "M values / CPU s": self._count * self._rows * len(row["values"]) / cpu / 1e6,
            "MB": size / 1e6,
            "bytes / entry": size / max(1, entries),
            "index of bounds, MB": plain["indexBytes"] / 1e6,
        }

    def _create(self, options: str) -> tuple[dict[str, float], Any]:
        start, cpu = time.perf_counter(), self._cpu()
        row = self._spark.sql(f"CREATE ZORDER INDEX ON '{self._table}'{options}").collect()[0]
        took = {
            "s": time.perf_counter() - start,
            "cpu s": self._cpu() - cpu,
        }
        return took, row

    def _cpu(self) -> float:
        """Return the seconds of processor time of the process that Spark runs in."""
        after_name = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def lookups(self, rounds: int, in_values: int) -> dict[str, float]:
        """Look keys up, with a listing that Spark holds."""
        df = self._spark.read.parquet(str(self._table))
        df.createOrReplaceTempView("needles")
        start = time.perf_counter()
        self._present(df)
        first = time.perf_counter() - start
        # for the compilers, and for the directories of shards
        for _ in range(20):
            self._present(df)
        requests, size = self._counted()
        present = [self._present(df) for _ in range(rounds)]
        now, size_now = self._counted()
        keys = [self._key() for _ in range(rounds)]
        many = [self._random.sample(range(self._count * self._rows), in_values) for _ in range(3)]
        lists = [", ".join(f"'{files.key(i)}'" for i in some) for some in many]
        of_many = [self._timed(df, f"u IN ({some})", in_values) for some in lists]
        return {
            "first look-up, ms": first * 1000,
            "look-up, ms": statistics.median(present),
            "files of a present value": self._kept([f"u = '{k}'" for k in keys]),
            "files of an absent value": self._kept([f"u = '{k[::-1]}'" for k in keys]),
            "reads of a look-up": (now - requests) / rounds,
            "bytes of a look-up": (size_now - size) / rounds,
            f"IN of {in_values}, files": self._kept([f"u IN ({some})" for some in lists]),
            f"IN of {in_values}, ms": statistics.median(of_many),
            "cache of the driver, MB": self._cache.bytes() / 1e6,
        }

    def alone(self, rounds: int) -> dict[str, float]:
        """Look keys up without skipping."""
        df = self._spark.read.parquet(str(self._table))
        self._spark.conf.set("spark.zorder.skipping.enabled", "false")
        try:
            return {"Spark alone, ms": statistics.median(self._present(df) for _ in range(rounds))}
        finally:
            self._spark.conf.unset("spark.zorder.skipping.enabled")

    def _key(self) -> str:
        return files.key(self._random.randrange(self._count * self._rows))

    def _present(self, df: DataFrame) -> float:
        return self._timed(df, f"u = '{self._key()}'", 1)

    def _timed(self, df: DataFrame, where: str, rows: int) -> float:
        start = time.perf_counter()
        found = len(df.where(where).collect())
        took = (time.perf_counter() - start) * 1000
        if found != rows:
            raise SystemExit(f"{found} rows, not {rows}, where {where[:200]}")
        return took

    def _kept(self, filters: list[str]) -> float:
        shown = (f"SHOW SKIPPING FOR SELECT * FROM needles WHERE {where}" for where in filters)
        return statistics.mean(float(self._spark.sql(s).collect()[0].filesKept) for s in shown)

    def _counted(self) -> tuple[int, int]:
        reads = self._reads.reads()
        return reads._1(), reads._2()


def bloom(spark: SparkSession, folder: Path, count: int, rows: int) -> dict[str, float]:
    """Look keys up by Parquet's own Bloom filters, in a table that Spark has written."""
    table = folder / f"needles-bloom-{count}-{rows}"
    shutil.rmtree(table, ignore_errors=True)
    source = spark.read.parquet(str(files.make(folder, count, rows).absolute()))
    source.repartition(count).write.option("parquet.bloom.filter.enabled#u", "true").option(
        "parquet.bloom.filter.expected.ndv#u", str(rows)
    ).parquet(str(table))
    found = Needles(spark, table, count, rows).alone(5)["Spark alone, ms"]
    plain = Needles(spark, files.make(folder, count, rows), count, rows).alone(5)["Spark alone, ms"]
    return {f"Bloom filters, {count} files, ms": found, f"Spark alone, {count} files, ms": plain}


def main() -> None:
    """Measure, and print a table."""
    options = _options()
    scratch = (options.data / "needles-scratch").absolute()
    shutil.rmtree(scratch, ignore_errors=True)
    table = files.make(options.data, options.files, options.rows)
    size = session.Machine(options.cores, options.heap)
    spark = session.start(size, scratch, peers=False)
    facts: dict[str, Any] = {
        "command": f"{PROGRAM} {shlex.join(sys.argv[1:])}",
        "files": options.files,
        "rows of a file": options.rows,
        **machine.facts(spark, size, peers=False),
    }
    needles = Needles(spark, table, options.files, options.rows)
    facts |= needles.build(options.values)
    facts |= needles.lookups(options.rounds, options.in_values)
    facts |= needles.alone(options.alone) if options.alone else {}
    facts |= (
        bloom(spark, options.data, options.bloom_files, options.rows) if options.bloom_files else {}
    )
    options.results.write_text(json.dumps(facts, indent=1) + "\n")
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        shown = f"{value:,.3f}" if isinstance(value, float) else str(value)
        print(f"{name:<{width}}  {shown}")
    spark.stop()
    shutil.rmtree(scratch, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    add = parser.add_argument
    add("--files", type=int, default=100_000)
    add("--rows", type=int, default=200, help="of a file")
    add("--values", default="u", help="columns, separated by commas")
    add("--rounds", type=int, default=100, help="look-ups that count")
    add("--in-values", type=int, default=100, help="values of a long IN")
    add("--alone", type=int, default=3, help="look-ups without skipping")
    add("--bloom-files", type=int, default=1000, help="of the table with Bloom filters; 0 for none")
    add("--data", type=Path, default=Path("benchmarks/data"), help="for the tables, which are kept")
    add("--results", type=Path, help="JSON file of this run; default: in --data")
    add("--cores", type=int, default=2)
    add("--heap", default="6g", help="of the one process that Spark runs in")
    options = parser.parse_args()
    options.results = options.results or options.data / "needles.json"
    return options


if __name__ == "__main__":
    main()

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m docs.experiments.inserts``: Impala's experiments by INSERTs into a declared order."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from benchmarks.demo import data as demo_data
from benchmarks.demo import session
from benchmarks.demo.queries import COLUMNS
from benchmarks.insert.tasks import task_seconds
from benchmarks.shared.markdown import table
from docs.experiments import data
from docs.experiments.lab import Case, Lab
from docs.experiments.setting import Setting

PAGE = Path(__file__).with_name("impala_inserts.md")

HEAD = """\
# Impala's experiments by INSERT

A program wrote this page, including the numbers:

```
python -m docs.experiments.inserts      # also a part of `make experiments`
```

The authors of Impala's `SORT BY ZORDER` report how many pages min/max rules out after an INSERT in Z-order, and that the sort
"took around seven times longer using Z-order" than a lexical sort. This page repeats their experiments by INSERTs of Spark
into tables with a [declared order](../ordered-writes.md).

| way | the rows of a task are sorted |
| --- | --- |
| plain | not at all |
| lexical | by the first column, then by the next |
| bits | by the interleaved bits of the values, as Impala does |
| grid | by the grid that an OPTIMIZE of the same rows has left |
| cells | by the grid, after a shuffle has dealt the rows to its cells |
| sampled | by a sample of the rows, after a shuffle has dealt the rows by the sample |

CPU seconds are those of Spark's tasks. Seconds and CPU seconds are the least of all rounds (`--rounds`, by default one). Other programs
were at work on the same machine. In each section, the plain INSERT came first of the measured INSERTs. Pages that are ruled out are the mean over 200 values of each column.
"""


@dataclass(frozen=True)
class Way:
    """A declared order and how a write keeps it."""

    name: str
    order: str
    write: str
    has_grid: bool = False


PLAIN = Way("plain", "ZORDER", "none")
LEXICAL = Way("lexical", "LEXICAL", "sort")
BITS = Way("bits", "ZORDER", "sort")
WAYS = (
    PLAIN,
    LEXICAL,
    BITS,
    Way("grid", "ZORDER", "sort", has_grid=True),
    Way("cells", "ZORDER", "cells", has_grid=True),
    Way("sampled", "ZORDER", "sampled"),
)


@dataclass(frozen=True)
class Experiment:
    """One experiment of Impala's text, repeated by INSERTs."""

    title: str
    text: str
    columns: Sequence[str]
    rows: Callable[[Setting], DataFrame]
    files: Callable[[Setting], int]
    page_rows: Callable[[Setting], int]


def _uniform(word: str, columns: str) -> Experiment:
    return Experiment(
        f"Uniform data, {word} columns",
        "Independent columns whose values are spread evenly. Each of 16 tasks sorts its own rows, so that only `cells` and\n"
        "`sampled` separate the files. If each file is sorted by itself, a page spans a wider range than if all rows are sorted together.",
        columns,
        lambda setting: data.uniform(setting.spark, setting.rows, len(columns)),
        lambda setting: setting.files,
        lambda setting: setting.page_rows,
    )


EXPERIMENTS = (
    Experiment(
        "TPC-DS store_sales in one file",
        "The table in Impala's text has the pages of a single file. One task writes our file, so no way can "
        "separate files.",
        COLUMNS,
        lambda setting: setting.spark.read.parquet(str(setting.store_sales)),
        lambda _: 1,
        lambda setting: setting.sales_page_rows,
    ),
    _uniform("two", "ab"),
    _uniform("four", "abcd"),
)


@dataclass(frozen=True)
class Inserts:
    """INSERTs of one table's rows in several ways."""

    spark: SparkSession
    folder: Path
    source: Path
    columns: Sequence[str]

    def location(self, way: Way) -> Path:
        """Return the directory of the table that is written in this way."""
        return self.folder / way.name

    def grid(self) -> Path:
        """Return the state of a table with the same rows after OPTIMIZE."""
        way = Way("optimized", "ZORDER", "none")
        self.run(way, None)
        self.spark.sql("OPTIMIZE TABLE written FULL").collect()
        return self.location(way) / "_zorder" / "_grid"

    def run(self, way: Way, grid: Path | None) -> tuple[float, float]:
        """Insert into a new table; return seconds of the clock and of the tasks' processors."""
        location = self.location(way)
        shutil.rmtree(location, ignore_errors=True)
        if way.has_grid and grid:
            shutil.copytree(grid, location / "_zorder" / "_grid")
        files = sorted(self.source.glob("*.parquet"))
        target = -(-sum(f.stat().st_size for f in files) // len(files))
        # as many tasks as files
        self.spark.conf.set("spark.sql.files.maxPartitionBytes", str(2 * target))
        self.spark.conf.set("spark.sql.files.openCostInBytes", str(2 * target))
        rows = self.spark.read.parquet(str(self.source))
        fields = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in rows.schema)
        self.spark.sql("DROP TABLE IF EXISTS written")
        self.spark.sql(
            f"CREATE TABLE written ({fields}) USING parquet "
            f"SORT BY {way.order} ({', '.join(self.columns)}) LOCATION '{location}' "
            f"TBLPROPERTIES ('zorder.targetFileSize' = '{target}', 'zorder.write' = '{way.write}')"
        )
        wall, cpu = time.perf_counter(), task_seconds(self.spark)
        rows.write.insertInto("written")
        return time.perf_counter() - wall, task_seconds(self.spark) - cpu


def section(setting: Setting, experiment: Experiment, rounds: int) -> str:
    """Insert the rows of an experiment in every way, once in each round; return the section of the page."""
    lab = Lab(setting.spark, setting.folder, experiment.page_rows(setting))
    name = f"insert_{len(experiment.columns)}_{experiment.columns[0]}"
    source = lab.unordered(name, experiment.rows(setting), experiment.files(setting))
    inserts = Inserts(setting.spark, source.parent / "inserts", source, experiment.columns)
    grid = inserts.grid()
    best: dict[Way, tuple[float, float]] = {}
    for _ in range(rounds):
        for way in WAYS:
            wall, cpu = inserts.run(way, grid)
            before = best.get(way, (wall, cpu))
            best[way] = (min(before[0], wall), min(before[1], cpu))
    paths = {way.name: inserts.location(way) for way in WAYS}
    case = lab.ask(experiment.columns, {"source": source} | paths)
    ratio = best[BITS][1] / best[LEXICAL][1]
    return (
        f"## {experiment.title}\n\n{experiment.text}\n\n{_table(case, best, inserts)}\n\n"
        f"The INSERT by bits took {ratio:.2f} times the processor time of the lexical one.\n"
    )


def _table(case: Case, best: dict[Way, tuple[float, float]], inserts: Inserts) -> str:
    lines = []
    for way in WAYS:
        wall, cpu = best[way]
        size = sum(f.stat().st_size for f in inserts.location(way).glob("*.parquet"))
        readings = [case.of(way.name, column) for column in inserts.columns]
        line = [way.name, f"{wall:.1f}", f"{cpu:.1f}", f"{cpu / best[PLAIN][1]:.2f}"]
        line += [f"{size / 1e6:.1f}", str(readings[0].all_files)]
        for one in readings:
            line += [f"{one.files:.1f}", f"{one.ruled_out():.1%}"]
        lines.append(line)
    head = ["way", "s", "CPU s", "CPU s / plain", "MB", "files"]
    head += [f"{c}: {w}" for c in inserts.columns for w in ("files read", "pages ruled out")]
    return table(head, lines)


def page(setting: Setting, rounds: int, say: Callable[[str], object] = lambda _: None) -> str:
    """Run the experiments and return the page."""
    parts = [HEAD]
    for experiment in EXPERIMENTS:
        parts.append(section(setting, experiment, rounds))
        say(parts[-1])
    return "\n".join(parts)


def main() -> None:
    """Run every experiment at full size and write the page."""
    parser = argparse.ArgumentParser(prog="python -m docs.experiments.inserts", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("demo-data"), help="kept and reused")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written")
    options = parser.parse_args()
    store_sales = demo_data.store_sales(options.data)
    spark = session.start()
    with TemporaryDirectory() as folder:
        # no pictures
        setting = Setting(spark, Path(folder), store_sales, images=Path(folder))
        options.page.write_text(page(setting, options.rounds, say=print))
    spark.stop()


if __name__ == "__main__":
    main()

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Three layouts of one table: unordered, lexically sorted, and by OPTIMIZE."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.demo.progress import step
from benchmarks.demo.queries import COLUMNS

FILES = 64


@dataclass(frozen=True)
class Layout:
    """A table on disk, and the seconds of its layout."""

    name: str
    path: Path
    seconds: float

    def files(self) -> list[Path]:
        """Return the data files, sorted by name."""
        return sorted(self.path.glob("*.parquet"))

    def size(self) -> int:
        """Return the size of the data files."""
        return sum(f.stat().st_size for f in self.files())


def make_all(spark: SparkSession, source: Path, folder: Path) -> list[Layout]:
    """Create the missing layouts; the unordered layout is the input of the others."""
    unordered = _make(folder / "unordered", lambda to: _unordered(spark, source, to))
    lexical = _make(folder / "lexical", lambda to: _lexical(spark, unordered.path, to))
    zorder = _make(folder / "optimized", lambda to: _optimized(spark, unordered, to))
    return [unordered, lexical, zorder]


def _make(path: Path, write: Callable[[Path], float]) -> Layout:
    times = path.parent / "seconds.json"
    seconds: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
    # noted when complete, so that an interrupted run leaves nothing that looks done
    if path.name not in seconds or not path.exists():
        shutil.rmtree(path, ignore_errors=True)
        with step(f"writing the layout {path.name}"):
            seconds[path.name] = write(path)
        times.write_text(json.dumps(seconds))
    return Layout(path.name, path, seconds[path.name])


def _unordered(spark: SparkSession, source: Path, to: Path) -> float:
    rows = spark.read.parquet(str(source))
    # the first job of a session pays for loading classes: not this layout's cost
    rows.sample(0.1, seed=1).repartition(FILES).write.parquet(str(to))
    shutil.rmtree(to)
    return _seconds(lambda: rows.repartition(FILES).write.parquet(str(to)))


def _lexical(spark: SparkSession, source: Path, to: Path) -> float:
    rows = spark.read.parquet(str(source))
    dealt = rows.repartitionByRange(FILES, *COLUMNS).sortWithinPartitions(*COLUMNS)
    return _seconds(lambda: dealt.write.parquet(str(to)))


def _optimized(spark: SparkSession, source: Layout, to: Path) -> float:
    shutil.copytree(source.path, to)
    return optimize(spark, to, COLUMNS, source.size() // FILES)


def index_all(spark: SparkSession, made: Sequence[Layout]) -> None:
    """Create the skipping index of the layouts that OPTIMIZE did not write."""
    for layout in made:
        table = layout.path.absolute()
        spark.sql(f"CREATE IF NOT EXISTS ZORDER INDEX ON '{table}'").collect()


def optimize(spark: SparkSession, table: Path, columns: tuple[str, ...], file_bytes: int) -> float:
    """Run OPTIMIZE in place, and return the seconds."""
    by = ", ".join(columns)
    statement = (
        f"OPTIMIZE TABLE parquet.`{table.absolute()}` ZORDER BY ({by}) "
        f"OPTIONS ('targetFileSize' '{file_bytes}')"
    )
    return _seconds(lambda: spark.sql(statement).collect())


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

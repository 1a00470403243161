# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The planning benchmark: the report on made-up numbers, and the queries on a small table."""

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from benchmarks.planning import files, report, results
from benchmarks.planning.measure import HELD, LISTING, NEW, NO_FILTER, NO_USE, Planning
from benchmarks.planning.results import ICEBERG, OURS, SPARK, Measured, Results
from benchmarks.shared import folders

pytestmark = pytest.mark.classic_only

INDEX = {
    "files": [100_000.0],
    "disk": [40.0],
    "heap": [250.0],
    "load": [90.0, 100.0],
    "new listing": [30.0, 31.0],
    "held listing": [1.0, 2.0],
    "held listing: compile": [1.0, 1.0],
    "held listing: judge": [1.0, 2.0],
    "held listing: match": [2.0, 3.0],
}
MILLION = {
    **INDEX,
    "files": [1_000_000.0],
    "columns": [4.0],
    "heap": [220.0],
    "heap of paths": [119.0],
    "heap of a held listing": [2.0],
    "held listing": [11.0],
    "two sessions": [9.0],
    "1000 ranges": [301.0],
}
RESULTS = Results(
    "command",
    {"cores": "2"},
    [
        Measured(HELD, SPARK, 10, [100, 300]),
        Measured(HELD, OURS, 10, [100, 100]),
        Measured(HELD, SPARK, 1000, [4000, 5000, 6000]),
        Measured(HELD, OURS, 1000, [200, 200, 200]),
        Measured(HELD, ICEBERG, 1000, [400, 500, 500]),
        Measured(NEW, SPARK, 1000, [5000]),
        Measured(NEW, OURS, 1000, [1000]),
        Measured(NO_FILTER, SPARK, 64, [10, 11, 12]),
        Measured(NO_FILTER, OURS, 64, [11, 13, 15]),
    ],
    [INDEX, MILLION],
)


def test_ratios_and_differences_are_taken_round_by_round() -> None:
    ratio = RESULTS.ratio(HELD, 10, OURS)
    assert ratio
    assert (ratio.low, ratio.median, ratio.high) == (1, 2, 3)
    more = RESULTS.difference(NO_FILTER, 64)
    assert more
    assert (more.low, more.median, more.high) == (1, 2, 3)
    assert RESULTS.ratio(NEW, 10, OURS) is None


def test_gates_take_the_table_with_most_files() -> None:
    judged = {gate.what: (gate.value, gate.holds()) for gate in report.judged(RESULTS)}
    assert judged == {
        f"{NO_FILTER}: milliseconds more than Spark alone": (2, True),
        "filter of 100,000 files by 4 columns, listing held: milliseconds": (1.5, True),
        "filter of 1,000,000 files by 4 columns, listing held: milliseconds": (11, False),
        "the same of 1,000,000 files in two sessions: milliseconds": (9, True),
        "1,000 ranges over 1,000,000 files: milliseconds": (301, False),
        "heap of the paths of 1,000,000 files: bytes a file": (121, False),
        "heap of a column of 1,000,000 files: bytes a file": (25.25, True),
        f"{HELD}, 1,000 files: Spark / ours": (25, True),
        f"{NEW}, 1,000 files: Spark / ours": (5, False),
    }


def test_the_report_has_every_number(tmp_path: Path) -> None:
    RESULTS.save(tmp_path / "r.json")
    text = report.text(results.load(tmp_path / "r.json"))
    assert "5,000.0" in text
    assert "25.0 (20.0 to 30.0)" in text
    assert "10.0 (10.0 to 12.0)" in text
    assert "1.00 + 1.50 + 2.50" in text
    assert "FAIL" in text


def test_every_file_has_rows_of_its_own(tmp_path: Path) -> None:
    table = files.make(tmp_path, 7)
    copy = folders.link(table, tmp_path / "copy")
    for folder in (table, copy):
        found = duckdb.sql(
            f"select count(*), count(distinct id), min(id), max(id), count(distinct filename) "
            f"from read_parquet('{folder}/*.parquet', filename = true)"
        ).fetchall()
        assert found == [(70, 70, 0, 69, 7)]
    assert files.make(tmp_path, 7) == table


def test_its_queries_measure_what_they_say(spark: SparkSession, tmp_path: Path) -> None:
    table = files.make(tmp_path, 5)
    planning = Planning(spark)
    planning.index(table)
    found = [
        *planning.useless(table, 5, 2),
        *planning.listing(table, 5, 2),
        *planning.compare(table, 5, 2, None),
    ]
    said = [(m.what, m.contender) for m in found]
    whats = (NO_FILTER, NO_USE, LISTING, HELD, NEW)
    assert said == [(what, name) for what in whats for name in (SPARK, OURS)]
    assert all(len(m.millis) == 2 and min(m.millis) > 0 for m in found)
    assert spark.conf.get("spark.zorder.skipping.enabled") == "true"

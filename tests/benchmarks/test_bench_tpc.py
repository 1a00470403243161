# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The TPC benchmark: its report and its picture, on made-up numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tpc import picture, report, results
from benchmarks.tpc.results import OURS, PARTITIONED, PLAIN, Results

pytestmark = pytest.mark.classic_only


def run(contender: str, read: int, seconds: list[float], exchanges: int = 3) -> dict[str, Any]:
    scan = {"table": "f", "files": read, "bytes": 10 * read, "allFiles": 100, "allBytes": 1000}
    return {
        "contender": contender,
        "rows": 7,
        "difference": None,
        "seconds": seconds,
        "scannedBytes": 5 * read,
        "plan": {"scans": [scan, scan], "exchanges": exchanges, "subqueries": 0},
    }


def saved(target: Path, queries: list[dict[str, Any]]) -> Path:
    target.write_text(json.dumps({"facts": {"scale": "1", "Spark": "4"}, "queries": queries}))
    return target


def query(name: str, *runs: dict[str, Any], error: str | None = None) -> dict[str, Any]:
    return {"workload": "tpcds", "query": name, "error": error, "measured": list(runs)}


@pytest.fixture
def found(tmp_path: Path) -> Results:
    ours = saved(
        tmp_path / "ours.json",
        [
            query("q1", run(PLAIN, 100, [2, 3, 4]), run(OURS, 50, [1, 2, 3])),
            query("q2", run(PLAIN, 100, [1, 1, 1]), run(OURS, 100, [2, 3, 2], exchanges=4)),
            query("q3", error="IllegalStateException no"),
        ],
    )
    partitions = saved(
        tmp_path / "partitions.json",
        [query("q1", run(PARTITIONED, 1, [9])), query("q2", run(PARTITIONED, 49, [9]))],
    )
    return results.load([ours, partitions])


def test_runs_of_several_files_are_put_together(found: Results) -> None:
    measured = found.of("tpcds")
    assert measured.contenders() == [PLAIN, OURS, PARTITIONED]
    assert [q.name for q in measured.queries] == ["q1", "q2"]
    assert [q.name for q in found.refused()] == ["q3"]


def test_shares_are_those_of_sums_and_geometric_means(found: Results) -> None:
    measured = found.of("tpcds")
    assert measured.byte_share(OURS) == measured.file_share(OURS) == 0.75
    assert measured.mean_share(PARTITIONED) == pytest.approx(0.07)
    assert measured.pruned(OURS) == 1
    assert measured.seconds(OURS) == 4


def test_gates(found: Results) -> None:
    judged = {g.what: (round(g.value, 2), g.holds()) for g in report.judged(found)}
    assert judged == {
        "TPC-DS: results with other rows": (0, True),
        "TPC-DS: queries that read more files": (0, True),
        "TPC-DS: share of the bytes read": (0.75, False),
        "TPC-DS: bytes skipped / bytes skipped by partitions": (0.33, False),
        "TPC-DS: queries that compute more exchanges (q2)": (1, False),
        "TPC-DS: seconds with index / without": (1, True),
        "TPC-DS: queries slower in all rounds (q2)": (1, False),
    }


def test_the_report_has_every_number(found: Results) -> None:
    text = report.text(found, every_query=True)
    assert "| 300 of 400 " in text
    assert "75.0%" in text
    assert "q3 did not run: IllegalStateException no" in text


def test_the_picture_shows_every_contender(found: Results, tmp_path: Path) -> None:
    assert picture.draw(found, tmp_path / "p.png").stat().st_size > 5000

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The gates and reports of the speed benchmark, on made-up numbers, without Spark."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest
from PIL import Image

from benchmarks.shared import folders
from benchmarks.speed import gates, names, options, plots, quality, report, results, tables
from benchmarks.speed.cases import files_at
from benchmarks.speed.results import CaseResult, Measured, Results, Run, Share
from benchmarks.speed.rounds import in_turn
from benchmarks.speed.statistics import Spread, cpu_ratio, seconds, spread

pytestmark = pytest.mark.classic_only

PHASES = {"sample": 1_000, "write": 7_000}
SHARES = [
    Share(column, level, units, fraction)
    for column, fraction in (("a", 0.125), ("b", 0.25))
    for level, units in (("files", 64), ("row groups", 256), ("pages", 400))
]


def _ran(contender: str, *took: float, size: int = 100) -> Measured:
    phases = PHASES if contender == names.OPTIMIZE else {}
    runs = [
        Run(i, s, 64, size, 7, 0, 3, phases, 10, 2 * s, 1.5 * s)
        for i, s in enumerate(took, start=1)
    ]
    return Measured(contender, runs, SHARES, tuple(runs[:1]))


CASE = CaseResult(
    "two",
    "t",
    ["a", "b"],
    1_000_000,
    64,
    100,
    [
        _ran(names.COPY, 4, 4, 4),
        _ran(names.PLAIN_UNSORTED, 7, 7, 8),
        _ran(names.PLAIN, 8, 9, 10),
        _ran(names.LEXICAL, 12, 13, 14),
        _ran(names.OPTIMIZE, 10, 10, 11, size=108),
        _ran(names.ICEBERG, 19),
        Measured(names.DELTA_ZORDER, [], SHARES),
    ],
)
RESULTS = Results("command", 1, 3, {"cores": "2"}, [CASE])


def _optimize(case: CaseResult) -> Measured:
    found = case.of(names.OPTIMIZE)
    assert found is not None
    return found


def test_the_spread_of_few_numbers() -> None:
    assert spread([3]) == Spread(3, 3, 3, 3, 3)
    assert spread([5, 1, 4, 2, 3]) == Spread(1, 2, 3, 4, 5)
    assert seconds(_ran(names.PLAIN, 1, 2)).median == 1.5


def test_ratios_are_of_runs_of_the_same_round() -> None:
    # both were slow in the second round: the ratio of the medians is 2, that of each round is 1
    found = cpu_ratio(_ran("x", 1, 4, 2).runs, _ran("y", 1, 4).runs)
    assert found is not None
    assert (found.low, found.median, found.high) == (1, 1, 1)


def test_results_without_processor_seconds_have_no_ratio() -> None:
    old = [replace(run, cpu_seconds=0.0) for run in _ran("y", 1, 4).runs]
    assert cpu_ratio(_ran("x", 1, 4).runs, old) is None
    assert cpu_ratio(_ran("x", 1, 4).runs, []) is None


def test_excess_is_1_on_the_ideal_grid() -> None:
    assert SHARES[0].excess(2) == pytest.approx(1)
    assert SHARES[3].excess(2) == pytest.approx(2)


def test_gates_pass_and_fail() -> None:
    held = {gate.what: (round(gate.value, 3), gate.holds()) for gate in gates.of_case(CASE)}
    assert held == {
        "processor seconds of optimize / plain, median of rounds": (1.111, True),
        "processor seconds of optimize / plain_unsorted, median of rounds": (1.429, False),
        "processor seconds of optimize / lexical, median of rounds": (0.786, True),
        "processor seconds of optimize / iceberg, median of rounds": (0.526, False),
        "processor seconds of optimize / plain, cold": (1.25, True),
        "the sampling pass's share of the seconds": (0.1, True),
        "bytes of optimize / lexical": (1.08, True),
    }


def test_gates_of_our_layout_in_a_format() -> None:
    """The excess is that of the format's own scans, and of each partition."""
    scans = [Share("a", results.SCAN, 128, 0.125), Share("b", results.SCAN, 128, 0.5)]
    ours = Measured(names.OPTIMIZE_ICEBERG, _ran(names.OPTIMIZE_ICEBERG, 5, 6).runs, scans)
    case = replace(CASE, measured=[ours, _ran(names.ICEBERG, 12, 12)], partitions=2)
    assert {gate.what: (round(gate.value, 3), gate.holds()) for gate in gates.of_case(case)} == {
        "seconds of optimize_iceberg / iceberg": (0.458, True),
        "processor seconds of optimize_iceberg / iceberg": (0.458, False),
        "files that scans of optimize_iceberg read / ideal, geometric mean of the columns": (
            2.0,
            False,
        ),
    }


def test_gates_across_scales() -> None:
    # ten times as many rows take twelve times as long
    ours = _ran(names.OPTIMIZE, 120, 120, 120)
    large = replace(RESULTS, scale=10, cases=[replace(CASE, rows=10_000_000, measured=[ours])])
    (a_row, sampling) = gates.across_scales(RESULTS, large)
    assert (round(a_row.value, 3), a_row.holds()) == (1.2, False)
    assert (round(sampling.value, 3), sampling.holds()) == (0.083, True)


def test_what_no_phase_covers_is_shown() -> None:
    assert gates.where_the_time_goes(_optimize(CASE)) == {"sample": 1, "write": 7, "rest": 2}


def test_results_survive_their_file(tmp_path: Path) -> None:
    RESULTS.save(tmp_path / "new" / "r.json")
    assert results.load(tmp_path / "new" / "r.json") == RESULTS


def test_the_report_has_every_contender_and_gate() -> None:
    lines = report.text(RESULTS).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    (optimize,) = [c for c in cells if c[0] == "optimize" and c[1] == "3"]
    assert optimize[2:] == [
        "20.00",
        "20.00 to 22.00",
        "1.43 (1.38 to 1.43)",
        "1.11 (1.10 to 1.25)",
        "0.79 (0.77 to 0.83)",
        "10.00",
        "10.00 to 11.00",
        "20,000",
        "15.00",
        "20.00",
    ]
    assert ["optimize", "a", "0.125 of 64", "1.00", "0.125 of 256", "2.00"] in [
        c[:6] for c in cells
    ]
    assert [c[-1] for c in cells if c[0] == "two"].count("FAIL") == 2
    assert "the sampling pass takes 10.0% of the wall time" in report.text(RESULTS)


def test_the_pictures_are_small(tmp_path: Path) -> None:
    for target in plots.draw(RESULTS, tmp_path):
        with Image.open(target) as image:
            assert image.mode == "P"
        assert target.stat().st_size < 100_000


def test_everybody_is_first_once() -> None:
    assert [in_turn(["a", "b", "c"], turn) for turn in (0, 1, 5)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
    ]


def test_files_have_one_size_at_every_scale() -> None:
    assert [files_at(scale) for scale in (0.01, 0.1, 1, 10)] == [4, 6, 64, 640]


def test_sampled_values_are_the_same_every_time(tmp_path: Path) -> None:
    query = "select date '1970-01-02' as d, i % 1000 as n, 'v' || i as s from range(20000) t(i)"
    duckdb.execute(f"copy ({query}) to '{tmp_path}/0.parquet' (format parquet)")
    found = quality.sampled_values([tmp_path / "0.parquet"], ["d", "n", "s"])
    assert found["d"] == [(date(1970, 1, 2) - date(1970, 1, 1)).days]
    assert [len(set(values)) for values in found.values()] == [1, quality.VALUES, quality.VALUES]
    assert found == quality.sampled_values([tmp_path / "0.parquet"], ["d", "n", "s"])


def test_a_linked_table_outlives_its_copy(tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir()
    duckdb.execute(f"copy (select 1 as a) to '{table}/0.parquet' (format parquet)")
    (copy,) = folders.link(table, tmp_path / "copy").iterdir()
    copy.unlink()
    assert tables.of(table).rows == 1


def test_peers_take_part_up_to_scale_1() -> None:
    assert options.parse([]).peers
    assert not options.parse(["--scale", "10"]).peers
    assert options.parse(["--scale", "10", "--peers"]).peers
    assert options.parse(["--rounds", "7"]).peer_rounds == 7

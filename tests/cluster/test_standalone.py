# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""OPTIMIZE and skipping on a standalone cluster with a master and two workers."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_cluster import (
    check_published,
    check_rewritten,
    names,
    rows,
    script,
    statement,
    stored,
)
from tests.support import cluster, data_files
from tests.support.cluster import events
from tests.support.optimizing import write_parts
from tests.support.standalone import HOSTS, Standalone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc"),
]


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    home = tmp_path / "cluster"
    home.mkdir()
    with Standalone(home) as started:
        yield started


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "t", rows(), 4)


OPTIMIZE_AND_READ = """
from spark_zorder import explain_skipping
spark = cluster.session(home, master={url!r}, **{settings!r})
spark.sql({text!r}).collect()
found = spark.read.parquet({table!r}).where("a = 7")
(skipped,) = [r for r in explain_skipping(found).collect() if "=" in r.predicate]
print(found.count(), skipped.files, skipped.filesKept, flush=True)
spark.stop()
"""


def optimize_and_read(
    standalone: Standalone, table: Path, home: Path, text: str, **settings: str
) -> tuple[int, int, int]:
    """Return the rows of a point query, the files of the table, and the files that it opens."""
    home.mkdir()
    body = OPTIMIZE_AND_READ.format(
        url=standalone.url,
        settings={**standalone.settings, **settings},
        text=text,
        table=str(table),
    )
    found, files, kept = map(int, script(home, body).split())
    return found, files, kept


def check_query(table: Path, found: int, files: int, kept: int) -> None:
    assert found == rows()["a"].to_pylist().count(7)
    assert files == len(data_files(table))
    # with two columns and 20 files, a point query reads about the square root of 20
    assert 0 < kept <= 6


def test_a_worker_is_killed_in_the_middle(
    standalone: Standalone, table: Path, tmp_path: Path
) -> None:
    def kill() -> None:
        executor = standalone.executor(HOSTS[1])
        standalone.workers[1].kill()
        os.kill(executor, signal.SIGKILL)

    killing = cluster.when_staged(table, 3, kill)
    found = optimize_and_read(standalone, table, tmp_path / "driver", statement(table))
    check_query(table, *found)
    killing.join()
    check_rewritten(table, 1)
    seen = events(tmp_path / "driver")
    assert [e for e in seen if e["Event"] == "SparkListenerExecutorRemoved"]
    tasks: list[Any] = [e for e in seen if e["Event"] == "SparkListenerTaskEnd"]
    assert {t["Task Info"]["Host"] for t in tasks} == set(HOSTS)


@pytest.mark.parametrize("is_into", [False, True], ids=["in place", "INTO"])
def test_speculative_tasks_and_one_that_comes_back(
    standalone: Standalone, tmp_path: Path, is_into: bool
) -> None:
    # on a busy machine the slow task can be the first to end: that shows nothing of copies
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        if is_copy_used(standalone, folder, is_into):
            return
    pytest.fail("no copy of a task came to its end")


def is_copy_used(standalone: Standalone, folder: Path, is_into: bool) -> bool:
    """An executor crawls while it writes; its tasks run again elsewhere; then it goes on.

    It gets a hundredth of its time: stopped for good, it would hold up the jobs after the write.
    The table must be right in any case. Return whether a copy of a task came to its end: it was the
    first to ask, or the slow one had asked just before it hung.
    """
    table = write_parts(folder / "t", rows(), 4)
    into = folder / "into"
    result = into if is_into else table
    slowed: list[int] = []

    def slow_down() -> None:
        executor = standalone.executor(HOSTS[1])
        slowed.append(executor)
        done = into / "_SUCCESS" if is_into else table / "_zorder/_commits/_1_done"
        # when the others have done its work, or at the latest before Spark gives it up
        until = time.monotonic() + 60
        while not done.exists() and time.monotonic() < until:
            os.kill(executor, signal.SIGSTOP)
            time.sleep(1)
            os.kill(executor, signal.SIGCONT)
            time.sleep(0.01)

    def is_writing() -> bool:
        return len(data_files(into) if is_into else cluster.staged(table)) >= 3

    watching: threading.Thread = cluster.when(is_writing, slow_down)
    text = statement(table)
    found = optimize_and_read(
        standalone,
        result,
        folder / "driver",
        text.replace("OPTIONS", f"INTO '{into}' OPTIONS") if is_into else text,
        **{
            "spark.speculation": "true",
            "spark.speculation.interval": "50ms",
            "spark.speculation.multiplier": "1.1",
            "spark.speculation.quantile": "0.1",
        },
    )
    watching.join()
    check_query(result, *found)
    assert slowed
    tasks: list[Any] = [
        e for e in events(folder / "driver") if e["Event"] == "SparkListenerTaskEnd"
    ]
    copies = [t for t in tasks if t["Task Info"]["Speculative"]]
    # what the late one may still make, it makes before it hears that there is no driver any more
    wait_for_end(slowed[0])
    if is_into:
        assert stored(into).equals(rows())
        assert names(into) == {f.name for f in data_files(into)} | {"_SUCCESS", "_zorder"}
    else:
        check_published(table, 1)
        # a late attempt may have made its file again: it goes with the files that the run replaced
        run = json.loads((table / "_zorder/_commits/_1").read_text())["run"]
        assert {file.parent.name for file in cluster.staged(table)} <= {f"_zorder_{run}"}
        data = {file.name for file in data_files(table)}
        assert names(table) == data | {"_zorder", f"_zorder_{run}"}
    reasons = {t["Task End Reason"]["Reason"] for t in copies}
    return bool(reasons & {"Success", "TaskCommitDenied"})


INSERT = """
spark = cluster.session(home, master={url!r}, **{settings!r})
rows = spark.read.parquet({source!r})
spark.sql({text!r}).collect()
writer = rows.write.mode("append").option("zorder.columns", "a, b")
writer = writer.option("zorder.write", "cells").option("zorder.targetFileSize", {size!r})
writer.parquet({table!r})
spark.stop()
"""


def test_speculative_tasks_of_an_insert_into_cells(
    standalone: Standalone, table: Path, tmp_path: Path
) -> None:
    """An executor crawls while an INSERT writes; each row of the INSERT is there once."""
    source = write_parts(tmp_path / "source", rows(), 4)
    home = tmp_path / "driver"
    home.mkdir()
    slowed: list[int] = []

    def slow_down() -> None:
        executor = standalone.executor(HOSTS[1])
        slowed.append(executor)
        until = time.monotonic() + 60
        while not (table / "_SUCCESS").exists() and time.monotonic() < until:
            os.kill(executor, signal.SIGSTOP)
            time.sleep(1)
            os.kill(executor, signal.SIGCONT)
            time.sleep(0.01)

    def is_writing() -> bool:
        return len(list(table.glob("_temporary/**/*.parquet"))) >= 2

    watching: threading.Thread = cluster.when(is_writing, slow_down)
    size = sum(file.stat().st_size for file in data_files(table)) // 20
    settings = {
        **standalone.settings,
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
    }
    body = INSERT.format(
        url=standalone.url,
        settings=settings,
        source=str(source),
        text=statement(table),
        size=str(size),
        table=str(table),
    )
    script(home, body)
    watching.join()
    assert slowed
    tasks: list[Any] = [e for e in events(home) if e["Event"] == "SparkListenerTaskEnd"]
    assert [t for t in tasks if t["Task Info"]["Speculative"]]
    wait_for_end(slowed[0])
    once, twice = rows(), stored(table)
    assert twice.num_rows == 2 * once.num_rows
    for column in once.column_names:
        # by id, so that each row stands beside its copy
        for offset in (0, 1):
            assert twice[column].to_pylist()[offset::2] == once[column].to_pylist()
    plan = [e for e in events(home) if "cell_of_place" in str(e.get("physicalPlanDescription"))]
    assert plan


def wait_for_end(process: int) -> None:
    until = time.monotonic() + 60
    while Path(f"/proc/{process}/cmdline").exists() and time.monotonic() < until:
        time.sleep(0.1)

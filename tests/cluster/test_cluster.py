# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""OPTIMIZE when executors are killed or run out of memory, and when the user presses Ctrl-C."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT, data_files, run_python, snapshot
from tests.support.cluster import events, staged
from tests.support.optimizing import pa, pq, run, write_parts

np: Any = pytest.importorskip("numpy")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc"),
]

ROWS = 150_000
START = """
import os, signal
from pathlib import Path
from tests.support import cluster
home = Path({home!r})
"""


def rows() -> Any:
    ids = np.arange(ROWS)
    mixed = (ids * 2654435761) % 2**32
    return pa.table(
        {
            "id": pa.array(ids),
            "a": pa.array(mixed % 1000),
            "b": pa.array(mixed // 1000 % 1000),
            "text": pa.array([f"{value:032b}{value:x}" for value in mixed.tolist()]),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "t", rows(), 4)


def statement(table: Path, files: int = 20) -> str:
    size = sum(file.stat().st_size for file in data_files(table)) // files
    return (
        f"OPTIMIZE TABLE parquet.`{table}` FULL ZORDER BY (a, b)"
        f" OPTIONS ('targetFileSize' '{size}')"
    )


def script(home: Path, body: str) -> Any:
    """Run a script that must succeed; return its output."""
    done = run_python(START.format(home=str(home)) + body, cwd=ROOT, SPARK_LOCAL_IP="127.0.0.1")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


def stored(table: Path) -> Any:
    """Read all rows without Spark, sorted by id."""
    parts = [pq.ParquetFile(file).read() for file in data_files(table)]
    return pa.concat_tables(parts).sort_by("id")


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} if directory.exists() else set()


def check_rewritten(table: Path, run: int) -> None:
    """Check the rows, that the last record names all files, and that nothing is staged."""
    check_published(table, run)
    assert staged(table) == []


def check_published(table: Path, run: int) -> None:
    """Check the rows, and that the last record names all files."""
    assert stored(table).equals(rows())
    record = json.loads((table / f"_zorder/_commits/_{run}").read_text())
    added = {file["name"] for change in record["changes"] for file in change["added"]}
    assert {file.name for file in data_files(table)} == added
    assert (table / f"_zorder/_commits/_{run}_done").exists()


def check_untouched(table: Path, before: dict[str, str]) -> None:
    live = {name: digest for name, digest in snapshot(table).items() if "_zorder" not in name}
    assert live == before
    assert staged(table) == []
    assert not (table / "_zorder/_commits/_1").exists()


SURVIVE = """
spark = cluster.session(home)
killing = cluster.when_staged(Path({table!r}), 3, cluster.kill_one)
spark.sql({text!r}).collect()
killing.join()
spark.stop()
"""


def test_an_executor_is_killed(table: Path, tmp_path: Path) -> None:
    """Spark repeats lost tasks and recreates lost shuffle files."""
    printed = script(tmp_path, SURVIVE.format(table=str(table), text=statement(table)))
    assert printed.split() == ["ACTED"]
    check_rewritten(table, 1)
    seen = events(tmp_path)
    removed = [e for e in seen if e["Event"] == "SparkListenerExecutorRemoved"]
    assert any("137" in str(e["Removed Reason"]) for e in removed), removed
    ended: list[Any] = [e for e in seen if e["Event"] == "SparkListenerTaskEnd"]
    assert any(e["Task End Reason"]["Reason"] == "ExecutorLostFailure" for e in ended)


FAIL = """
spark = cluster.session(home, **{{"spark.task.maxFailures": "1", "spark.executor.memory": "512m"}})
for table, text in {statements!r}:
    if table == {killed!r}:
        cluster.when_staged(Path(table), 3, cluster.kill_one)
    try:
        spark.sql(text).collect()
        print("ENDED WELL", flush=True)
    except Exception as error:
        lost = "ExecutorLostFailure" in str(error) or "OutOfMemoryError" in str(error)
        print("FAILED", lost, flush=True)
spark.stop()
"""

# write the file in a new process, because its end frees the memory
HUGE = """
import pyarrow as pa, pyarrow.parquet as pq
table = pa.table({{"id": pa.array([1]), "huge": pa.array([bytes(600 << 20)])}})
pq.write_table(table, {path!r}, compression="zstd", use_dictionary=False, write_statistics=False)
"""


def test_a_task_that_may_not_be_repeated_and_a_value_larger_than_memory(
    table: Path, tmp_path: Path
) -> None:
    small = pa.table({"id": pa.array(range(9)), "huge": pa.array([b"x"] * 9)})
    huge = write_parts(tmp_path / "huge", small, 2)
    made = run_python(HUGE.format(path=str(huge / "part-huge.parquet")))
    assert made.returncode == 0, made.stderr
    before = snapshot(table), snapshot(huge)
    texts = [
        (str(table), statement(table)),
        (str(huge), f"OPTIMIZE TABLE parquet.`{huge}` ZORDER BY (id)"),
    ]
    printed = script(tmp_path, FAIL.format(statements=texts, killed=str(table)))
    assert printed.splitlines() == ["ACTED", "FAILED True", "FAILED True"]
    check_untouched(table, before[0])
    check_untouched(huge, before[1])
    lost = [e for e in events(tmp_path) if e["Event"] == "SparkListenerExecutorRemoved"]
    assert any("137" in str(e["Removed Reason"]) for e in lost), lost


INTERRUPT = """
from pyspark.sql import SparkSession
from spark_zorder import configure

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = configure(builder).getOrCreate()
cluster.when_staged(Path({table!r}), 3, lambda: os.kill(os.getpid(), signal.SIGINT))
spark.sql({text!r}).collect()
print("ENDED WELL", flush=True)
"""


@pytest.mark.classic_only
def test_ctrl_c(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    """Ctrl-C ends the script and its JVM. The table is unchanged, and the next OPTIMIZE works."""
    before, text = snapshot(table), statement(table)
    body = START.format(home=str(tmp_path)) + INTERRUPT.format(table=str(table), text=text)
    done = run_python(body, cwd=ROOT, SPARK_LOCAL_IP="127.0.0.1")
    assert (done.returncode != 0, done.stdout.split()) == (True, ["ACTED"]), done.stderr[-3000:]
    live = {name: digest for name, digest in snapshot(table).items() if "_zorder" not in name}
    assert live == before
    assert names(table / "_zorder/_commits") == set()
    # staged files may remain, but no record names them
    run(spark, text)
    assert stored(table).equals(rows())
    assert names(table / "_zorder/_commits") == {"_1", "_1_done"}

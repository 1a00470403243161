# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The programs of Spark (spark-sql, spark-shell, servers) as separate processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_zorder import _jars
from spark_zorder.session import EXTENSION

BIN = Path(sys.executable).parent
JAR = _jars.find_for_pyspark()
ROW = _jars.row_of(JAR.name)
OPTIONS = ["--jars", str(JAR), "--conf", f"spark.sql.extensions={EXTENSION}"]

SMALL = """
spark.master local[2]
spark.driver.memory 1g
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.sql.shuffle.partitions 2
spark.sql.session.timeZone UTC
"""

PATIENCE = 240.0


class Home:
    """The working folder of a program: its settings, its catalog, and one table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = folder / "points"
        self.conf = folder / "conf"
        self.conf.mkdir()
        self.add_defaults(SMALL)
        self.environment = {
            "SPARK_CONF_DIR": str(self.conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }

    def add_defaults(self, lines: str) -> None:
        with (self.conf / "spark-defaults.conf").open("a") as file:
            file.write(lines + "\n")

    @property
    def statements(self) -> list[str]:
        """The statements of each program: OPTIMIZE, a query of the rows, and a function."""
        return [
            f"CREATE TABLE points USING parquet LOCATION '{self.table}' AS SELECT"
            " /*+ REPARTITION(4) */ id, id % 37 AS x, id % 41 AS y FROM range(1000)",
            "OPTIMIZE TABLE points ZORDER BY (x, y)",
            "SELECT concat_ws(' ', 'rows', count(*), sum(id), sum(x), sum(y), count(DISTINCT id))"
            " AS answer FROM points",
            "SELECT concat('bits ', hex(interleave_bits(0, -1))) AS answer",
        ]

    def check(self, printed: str) -> None:
        """Check that the rows are complete, and that our OPTIMIZE has run."""
        ids = range(1000)
        sums = [sum(ids), sum(i % 37 for i in ids), sum(i % 41 for i in ids)]
        for answer in (f"rows 1000 {sums[0]} {sums[1]} {sums[2]} 1000", "bits 5555555555555555"):
            assert answer in printed, printed[-6000:]
        assert (self.table / "_zorder/_commits/_1_done").exists()

    def run(self, command: list[str], text: str = "") -> str:
        """Run a program; return its output and errors."""
        done = subprocess.run(
            command,
            input=text,
            cwd=self.folder,
            env={**_inherited(), **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    @contextmanager
    def serving(self, command: list[str], port: int) -> Iterator[None]:
        """Run a server until it answers on a port; stop it and its children after the block."""
        with serving(command, port, self.folder, {**_inherited(), **self.environment}):
            yield


@contextmanager
def serving(
    command: list[str], port: int, folder: Path, environment: dict[str, str]
) -> Iterator[None]:
    """Run a server until it answers on a port; stop it and its children after the block."""
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(port, process, log)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _inherited() -> dict[str, str]:
    taken_away = {"SPARK_TESTING", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE"}
    return {key: value for key, value in os.environ.items() if key not in taken_away}


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text()[-6000:]
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-6000:])

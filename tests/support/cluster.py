# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Sessions on executor processes, and ways to kill them, for scripts of `run_python`."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from spark_zorder import configure

PATIENCE = 280.0


def session(home: Path, master: str = "local-cluster[2,1,1024]", **settings: str) -> SparkSession:
    """Build a session with an event log on two executor processes of one core each."""
    os.environ["SPARK_HOME"] = str(spark_home(home))
    (home / "events").mkdir(exist_ok=True)
    builder = SparkSession.builder.master(master)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (home / "events").as_uri(),
        **settings,
    }.items():
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()


def spark_home(home: Path) -> Path:
    """Return a folder that workers use as SPARK_HOME, so that they do not write into pyspark's."""
    folder = home / "spark-home"
    folder.mkdir(exist_ok=True)
    for name in ("bin", "jars"):
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder


def executors(argument: str = "") -> list[int]:
    """The executors among the descendants of this process, and so nobody else's.

    With an argument of their command line, such as the host of their worker, those that have it.
    """
    parents: dict[int, int] = {}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # it ended meanwhile
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            is_wanted = not argument or argument.encode() in command.split(b"\0")
            if b"CoarseGrainedExecutorBackend" in command and is_wanted:
                found.append(int(entry.name))

    def is_ours(process: int) -> bool:
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return sorted(filter(is_ours, found))


def staged(table: Path) -> list[Path]:
    return list(table.rglob("_zorder_*/_new_*"))


def when_staged(table: Path, files: int, action: Callable[[], None]) -> threading.Thread:
    """Run an action as soon as so many files are staged, in the middle of the write."""
    return when(lambda: len(staged(table)) >= files, action)


def when(is_time: Callable[[], bool], action: Callable[[], None]) -> threading.Thread:
    """Run an action once, as soon as a condition holds."""

    def watch() -> None:
        until = time.monotonic() + PATIENCE
        while not is_time():
            if time.monotonic() > until:
                return
            time.sleep(0.005)
        action()
        print("ACTED", flush=True)  # noqa: T201 - what the script tells its test

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def kill_one() -> None:
    os.kill(executors()[0], signal.SIGKILL)


def events(home: Path) -> list[dict[str, object]]:
    """Return the event log of a session that has ended."""
    (log,) = (home / "events").iterdir()
    return [json.loads(line) for line in log.read_text().splitlines()]

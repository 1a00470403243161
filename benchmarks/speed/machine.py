# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Facts that the numbers depend on."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from pyspark.sql import SparkSession

import spark_zorder
from benchmarks.speed.session import DELTA, ICEBERG, Machine


def facts(spark: SparkSession, machine: Machine, peers: bool) -> dict[str, str]:
    """Return versions and sizes, by what they are called in the report."""
    java = spark._jvm.System.getProperty("java.version")  # type: ignore[union-attr]
    found = {
        "spark-zorder": f"{spark_zorder.__version__} ({_commit()})",
        "Spark": spark.version,
        "Java": str(java),
        "Python": platform.python_version(),
        "system": platform.system(),
        "cores": f"{machine.cores} of {os.cpu_count()}",
        "memory": f"{_memory_gib()} GiB",
        "heap": machine.heap,
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }
    if peers:
        found |= {"Delta Lake": DELTA.split(":")[-1], "Iceberg": ICEBERG.split(":")[-1]}
    return found


def _commit() -> str:
    here = Path(__file__).parent
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "no commit"


def _memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)

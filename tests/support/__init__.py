# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Helpers of many tests: rows as a multiset, hashes of a directory, other Python processes."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

ROOT = Path(__file__).parent.parent.parent

# Sessions in tests are short, so the second JIT compiler costs more than it gains. The default
# collector treats Parquet's buffers as humongous objects and keeps marking the heap.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"


def rows_of(df: DataFrame) -> Counter[Any]:
    """Return the rows as a multiset."""
    return Counter(df.collect())


def data_files(directory: Path, names: str = "*.parquet") -> list[Path]:
    """List the files that Spark reads as the table: no part of the path starts with _ or a dot."""
    files = [path for path in directory.rglob(names) if path.is_file()]
    return sorted(
        path
        for path in files
        if not any(part.startswith(("_", ".")) for part in path.relative_to(directory).parts)
    )


def snapshot(directory: Path) -> dict[str, str]:
    """Return a hash of every file below a directory, to prove that nothing changed."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def condition_of(error: PySparkException) -> str | None:
    """Return the error condition; Spark 3.5 calls it error class."""
    name = "getCondition" if hasattr(error, "getCondition") else "getErrorClass"
    return str(getattr(error, name)())


def run_python(
    script: str, *, python: str = sys.executable, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process, with a JVM of its own."""
    return run([python, "-c", script], cwd=cwd, **environment)


def run(
    command: list[str], *, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with additional environment variables; an empty value removes a variable."""
    inherited = {key: value for key, value in os.environ.items() if key != "SPARK_TESTING"}
    merged = {**inherited, "JDK_JAVA_OPTIONS": JVM_OPTIONS, **environment}
    return subprocess.run(
        command,
        cwd=cwd,
        env={key: value for key, value in merged.items() if value},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

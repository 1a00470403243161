"""The benchmarks of inserts, on a small table."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.insert.many import HEAD, Series, run
from benchmarks.insert.tasks import task_seconds

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]


def test_many_inserts_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    before = task_seconds(spark)
    outcome = run(spark, tmp_path / "many", "cells", Series(inserts=4, every=2, rows=3000))
    spark.sql("DROP TABLE many")
    assert task_seconds(spark) > before
    assert outcome.inserted > 4 * 3000
    assert (len(outcome.always), len(outcome.after)) == (4, 2)
    assert min(outcome.always) >= 0.9
    assert len(outcome.line("cells")) == len(HEAD)

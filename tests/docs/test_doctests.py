# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The examples in docstrings return the results that they show."""

import doctest
import importlib

import pytest
from pyspark.sql import SparkSession

from spark_zorder import ZOrderTable

PUBLIC = ("functions", "optimize", "report", "session", "skipping", "table")
WITH_EXAMPLES = ("_check", "_runs", *PUBLIC)
MODULES = ["spark_zorder", *(f"spark_zorder.{m}" for m in WITH_EXAMPLES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(spark: SparkSession, database: str, name: str) -> None:
    """doctest sorts by name, so the class runs OPTIMIZE before the examples of its methods."""
    module = importlib.import_module(name)
    rows = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 37 AS x", "id % 41 AS y")
    rows.write.saveAsTable("points")
    points = ZOrderTable.forName(spark, "points")
    outcome = doctest.testmod(module, extraglobs={"spark": spark, "points": points})
    assert outcome.attempted > 0
    assert outcome.failed == 0

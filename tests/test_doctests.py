"""The examples of the documentation give what they say."""

import doctest
import importlib

import pytest
from pyspark.sql import SparkSession

MODULES = [
    "spark_zorder",
    *(f"spark_zorder.{m}" for m in ("_check", "functions", "report", "session", "table")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(spark: SparkSession, name: str) -> None:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, extraglobs={"spark": spark})
    assert outcome.attempted > 0
    assert outcome.failed == 0

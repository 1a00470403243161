# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Wrong columns and settings of OPTIMIZE are errors in Python, too, and change nothing."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.optimizing import points, refusal, statement, write_parts


def test_wrong_columns_and_settings(spark: SparkSession, tmp_path: Path) -> None:
    table = write_parts(tmp_path / "points", points())
    refusal(spark, statement(table, ["nope"]), table, "ZORDER_COLUMN_NOT_FOUND", "`nope`", "`id`")
    text = statement(table, ["id"], targetFileSize="big")
    refusal(spark, text, table, "ZORDER_INVALID_SETTING", "targetFileSize", "'big'")
    with pytest.raises(PySparkException, match=r"spark\.zorder\.targetFileSize"):
        spark.conf.set("spark.zorder.targetFileSize", "big")

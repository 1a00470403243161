# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The Spark session of the benchmarks of inserts."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from spark_zorder import configure


def start(name: str, heap: str, data: Path) -> SparkSession:
    """Start Spark in one process on two cores, with its files below `data`."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(f"spark-zorder {name}")
        .config("spark.driver.memory", heap)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(data / "local"))
        .config("spark.sql.warehouse.dir", str(data / "warehouse"))
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark

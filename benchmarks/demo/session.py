# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The Spark session of the demonstration."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_zorder import configure

PAGE_ROWS = 20_000


def start() -> SparkSession:
    """Start Spark with the package on all cores of this machine."""
    builder = (
        SparkSession.builder.master("local[*]")
        .appName("spark-zorder demonstration")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        # every layout is written with pages of the same number of rows
        .config("spark.hadoop.parquet.page.row.count.limit", str(PAGE_ROWS))
        # vectored reads of local files are missing from the bytes that Spark reports
        .config("spark.hadoop.parquet.hadoop.vectored.io.enabled", "false")
        # bytes read are taken from the executor's summary: let it follow every task at once
        .config("spark.ui.liveUpdate.period", "0")
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark

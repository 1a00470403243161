# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""One Spark session that knows every contender."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from spark_zorder import configure

DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
# the catalog of Iceberg's tables
CATALOG = "ice"
PAGE_ROWS = 20_000

# the last extension's parser is the outermost; every statement says whose table it means
EXTENSIONS = (
    "io.sparkzorder.ZOrderExtensions",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)


@dataclass(frozen=True)
class Machine:
    """How much of the machine Spark gets."""

    cores: int
    heap: str


def start(machine: Machine, scratch: Path, peers: bool) -> SparkSession:
    """Start Spark in one process."""
    builder = (
        SparkSession.builder.master(f"local[{machine.cores}]")
        .appName("spark-zorder speed")
        .config("spark.driver.memory", machine.heap)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        # every contender says how many files it writes; this is about jobs on metadata, which
        # cost the table formats seconds when one process runs 200 tasks for each
        .config("spark.sql.shuffle.partitions", str(4 * machine.cores))
        # the summaries of so many stages are kept: a meter adds them up
        .config("spark.ui.retainedStages", "2000")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.parquet.compression.codec", "snappy")
        .config("spark.hadoop.parquet.page.row.count.limit", str(PAGE_ROWS))
    )
    if peers:
        builder = _with_peers(builder, scratch)
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _with_peers(builder: SparkSession.Builder, scratch: Path) -> SparkSession.Builder:
    return (
        builder.config("spark.jars.packages", f"{DELTA},{ICEBERG}")
        .config("spark.sql.extensions", ",".join(EXTENSIONS))
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        # by default 50 tasks read Delta's log
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config(f"spark.sql.catalog.{CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
        .config(f"spark.sql.catalog.{CATALOG}.type", "hadoop")
        .config(f"spark.sql.catalog.{CATALOG}.warehouse", str(scratch / "iceberg"))
    )

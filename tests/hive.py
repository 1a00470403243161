"""A session with Hive's catalog in Derby, for scripts that `run` runs: a JVM of its own each."""

from pathlib import Path

from pyspark.sql import SparkSession

from spark_zorder import configure


def session(base: Path) -> SparkSession:
    """Everything that it writes lies below `base`."""
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{base}/warehouse",
        # decimals as bytes: Hive's own reader knows no others
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{base}/catalog;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={base} -XX:TieredStopAtLevel=1",
    }.items():
        builder = builder.config(key, value)
    return configure(builder).enableHiveSupport().getOrCreate()

"""The commands of table formats, on the same files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import Row

from benchmarks.shared.folders import link
from benchmarks.speed import names
from benchmarks.speed.contenders import Contender, Job, Ready
from benchmarks.speed.session import CATALOG


def peers() -> dict[str, Contender]:
    """Return the contenders that bring their own table format, by name."""
    made: tuple[Contender, ...] = (_delta_zorder, _delta_cluster, _iceberg)
    return dict(zip(names.PEERS, made, strict=True))


def _delta_zorder(job: Job) -> Ready:
    return _delta(job, "", f"ZORDER BY ({job.by()})")


def _delta_cluster(job: Job) -> Ready:
    return _delta(job, f"CLUSTER BY ({job.by()})", "FULL")


def _delta(job: Job, alter: str, clause: str) -> Ready:
    """Make a Delta table of linked files, statistics included; OPTIMIZE is what is timed."""
    spark, table = job.spark, link(job.table.path, job.folder / "table")
    name = f"delta.`{table}`"
    spark.sql(f"CONVERT TO DELTA parquet.`{table}`")
    if alter:
        spark.sql(f"ALTER TABLE {name} {alter}")
    # Delta rounds the number of files down
    size = str(job.table.bytes // job.table.files)
    settings = {f"spark.databricks.delta.optimize.{k}FileSize": size for k in ("max", "min")}

    def run() -> Sequence[Row]:
        for key, value in settings.items():
            spark.conf.set(key, value)
        try:
            return spark.sql(f"OPTIMIZE {name} {clause}").collect()
        finally:
            for key in settings:
                spark.conf.unset(key)

    def files() -> Sequence[Path]:
        return _paths(spark.read.format("delta").load(str(table)).inputFiles())

    return Ready(run, files)


def _iceberg(job: Job) -> Ready:
    """Make an Iceberg table of linked files; its procedure is what is timed."""
    spark, files = job.spark, link(job.table.path, job.folder / "imported")
    # a name of its own each time: catalogs remember tables
    table = f"speed.{job.folder.name.replace('-', '_')}"
    parquet = f"parquet.`{files}`"
    fields = spark.table(parquet).schema
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
    spark.sql(
        f"CREATE TABLE {CATALOG}.{table} ({columns}) USING iceberg TBLPROPERTIES "
        "('write.parquet.compression-codec' = 'snappy')"
    )
    spark.sql(f"CALL {CATALOG}.system.add_files('{table}', '{parquet}')").collect()
    options = {
        "rewrite-all": "true",
        "target-file-size-bytes": str(job.table.file_bytes()),
        # the writer begins another file half-way from the target to this size, measured before
        # compression: far off, or every task writes two files
        "max-file-size-bytes": str(100 * job.table.file_bytes()),
    }
    listed = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    statement = (
        f"CALL {CATALOG}.system.rewrite_data_files(table => '{table}', strategy => 'sort', "
        f"sort_order => 'zorder({job.by()})', options => map({listed}))"
    )

    def data_files() -> Sequence[Path]:
        rows = spark.sql(f"SELECT file_path FROM {CATALOG}.{table}.files").collect()
        return _paths([row.file_path for row in rows])

    return Ready(lambda: spark.sql(statement).collect(), data_files)


def _paths(addresses: Sequence[str]) -> list[Path]:
    return sorted(Path(unquote(urlparse(address).path)) for address in addresses)

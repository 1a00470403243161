# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The commands of table formats, and OPTIMIZE of their tables, on the same files."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Row

from benchmarks.speed import names
from benchmarks.speed.contenders import Contender, Job, Ready
from benchmarks.speed.formats import DeltaTable, IcebergTable
from benchmarks.speed.session import CATALOG


def of_formats() -> dict[str, Contender]:
    """Return the contenders that need a table format, by name."""
    return {
        names.OPTIMIZE_DELTA: lambda job: _optimize(job, DeltaTable(job)),
        names.OPTIMIZE_ICEBERG: lambda job: _optimize(job, IcebergTable(job)),
        names.DELTA_ZORDER: lambda job: _delta(job, "", f"ZORDER BY ({job.by()})"),
        names.DELTA_CLUSTER: lambda job: _delta(job, f"CLUSTER BY ({job.by()})", "FULL"),
        names.ICEBERG: lambda job: _iceberg(job, "zorder"),
        names.ICEBERG_HILBERT: lambda job: _iceberg(job, "hilbert"),
    }


def _optimize(job: Job, table: DeltaTable | IcebergTable) -> Ready:
    statement = job.optimize(table.name)
    return Ready(lambda: job.spark.sql(statement).collect(), table.files, table.planned)


def _delta(job: Job, alter: str, clause: str) -> Ready:
    spark, table = job.spark, DeltaTable(job)
    if alter:
        spark.sql(f"ALTER TABLE {table.name} {alter}")
    # Delta rounds the number of files down
    size = str(job.table.bytes // job.table.files)
    settings = {f"spark.databricks.delta.optimize.{k}FileSize": size for k in ("max", "min")}

    def run() -> Sequence[Row]:
        for key, value in settings.items():
            spark.conf.set(key, value)
        try:
            return spark.sql(f"OPTIMIZE {table.name} {clause}").collect()
        finally:
            for key in settings:
                spark.conf.unset(key)

    return Ready(run, table.files, table.planned)


def _iceberg(job: Job, curve: str) -> Ready:
    spark, table = job.spark, IcebergTable(job)
    options = {
        "rewrite-all": "true",
        "target-file-size-bytes": str(job.table.file_bytes()),
        # the writer begins another file half-way from the target to this size, measured before
        # compression: far off, or every task writes two files
        "max-file-size-bytes": str(100 * job.table.file_bytes()),
    }
    listed = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    statement = (
        f"CALL {CATALOG}.system.rewrite_data_files(table => '{table.path}', strategy => 'sort', "
        f"sort_order => '{curve}({job.by()})', options => map({listed}))"
    )
    return Ready(lambda: spark.sql(statement).collect(), table.files, table.planned)

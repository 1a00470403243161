# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of Delta Lake and Iceberg on linked files, and what their own scans read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from pyspark.sql import functions as F

from benchmarks.shared.folders import link
from benchmarks.speed.contenders import Job
from benchmarks.speed.session import CATALOG


class DeltaTable:
    """A Delta table of linked files, with statistics."""

    def __init__(self, job: Job) -> None:
        self._spark = job.spark
        self._path = link(job.table.path, job.folder / "table")
        self.name = f"delta.`{self._path}`"
        partition = job.case.partition
        parts = f" PARTITIONED BY ({partition} INT)" if partition else ""
        job.spark.sql(f"CONVERT TO DELTA parquet.`{self._path}`{parts}")

    def files(self) -> Sequence[Path]:
        """Return the data files of the newest version."""
        return _paths(self._spark.read.format("delta").load(str(self._path)).inputFiles())

    def planned(self, column: str, value: Any) -> int:
        """Return how many files Delta's statistics leave for a value of a column."""
        table = self._spark.read.format("delta").load(str(self._path))
        is_date = dict(table.dtypes)[column] == "date"
        literal = F.date_from_unix_date(F.lit(value)) if is_date else F.lit(value)
        return len(table.where(F.col(column) == literal).inputFiles())


class IcebergTable:
    """An Iceberg table of linked files, with bounds in its manifests."""

    def __init__(self, job: Job) -> None:
        self._spark = job.spark
        # a name of its own each time: catalogs remember tables
        self.path = f"speed.{job.folder.name.replace('-', '_')}"
        self.name = f"{CATALOG}.{self.path}"
        files = link(job.table.path, job.folder / "imported")
        parquet = f"parquet.`{files}`"
        fields = job.spark.table(parquet).schema
        columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
        partition = job.case.partition
        parts = f" PARTITIONED BY ({partition})" if partition else ""
        job.spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING iceberg{parts} "
            "TBLPROPERTIES ('write.parquet.compression-codec' = 'snappy')"
        )
        add = f"CALL {CATALOG}.system.add_files('{self.path}', '{parquet}')"
        job.spark.sql(add).collect()

    def files(self) -> Sequence[Path]:
        """Return the data files of the current snapshot."""
        rows = self._spark.sql(f"SELECT file_path FROM {self.name}.files").collect()
        return _paths([row.file_path for row in rows])

    def planned(self, column: str, value: Any) -> int:
        """Return how many files the manifests' bounds leave for a value of a column."""
        iceberg: Any = self._spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
        session = self._spark._jsparkSession
        table = iceberg.spark.Spark3Util.loadIcebergTable(session, self.name)
        equal = iceberg.expressions.Expressions.equal(column, value)
        collections = iceberg.relocated.com.google.common.collect
        tasks = table.newScan().filter(equal).planFiles()
        try:
            return int(collections.Iterables.size(tasks))
        finally:
            tasks.close()


def _paths(addresses: Sequence[str]) -> list[Path]:
    return sorted(Path(unquote(urlparse(address).path)) for address in addresses)

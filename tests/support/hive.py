# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Scripts on a session with Hive's catalog in Derby; each script has its own JVM."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from spark_zorder import configure
from tests.support import JVM_OPTIONS, ROOT, condition_of, data_files, run_python

_SCRIPT = """
from collections import Counter
from pathlib import Path
from tests.support import hive
base = Path({base!r})
spark = hive.session(base)
tables = hive.Tables(spark, base, {reader!r})
{body}
spark.stop()
print("done")
"""


def script(base: Path, reader: str, body: str) -> None:
    """Run statements that can use `spark`, `base` and `tables`, which is a `Tables` object."""
    done = run_python(_SCRIPT.format(base=str(base), reader=reader, body=body), cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == "done"


def session(base: Path, more: dict[str, str] | None = None) -> SparkSession:
    """Build the session, with `more` settings; it writes only below `base`."""
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{base}/warehouse",
        # Hive's reader needs decimals as bytes
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{base}/catalog;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        # these are the defaults since Spark 4.0
        "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={base} {JVM_OPTIONS}",
        **(more or {}),
    }
    builder = SparkSession.builder.master("local[2]").config(map=settings)
    return configure(builder).enableHiveSupport().getOrCreate()


class Tables:
    """What scripts ask of tables in Hive's format by the reader "Parquet" or "Orc"."""

    def __init__(self, spark: SparkSession, base: Path, reader: str) -> None:
        self._spark, self._base = spark, base
        self._native = f"spark.sql.hive.convertMetastore{reader}"

    def rows(self, table: str) -> Counter[Any]:
        """Return the rows; Spark's and Hive's reader must agree."""
        found = []
        for native in ("true", "false"):
            self._spark.conf.set(self._native, native)
            found.append(Counter(self._spark.table(table).collect()))
        self._spark.conf.set(self._native, "true")
        assert found[0] == found[1]
        return found[0]

    def optimize(self, table: str, rest: str, **metrics: int) -> Row:
        """Run OPTIMIZE; compare the rows, and check the given metrics."""
        before = self.rows(table)
        (result,) = self._spark.sql(f"OPTIMIZE {table} {rest}").collect()
        assert self.rows(table) == before
        for name, value in metrics.items():
            assert result.metrics[name] == value, (table, name, result.metrics)
        return result

    def refused(self, condition: str, statement: str, *says: str) -> None:
        """Run a statement that must fail, and check its error."""
        with pytest.raises(PySparkException) as error:
            self._spark.sql(statement).collect()
        assert str(condition_of(error.value)).startswith(condition), error.value
        assert all(word in str(error.value) for word in says), error.value

    def bytes(self, folder: str) -> int:
        """Return the size of the files in a folder below the warehouse."""
        files = data_files(self._base / "warehouse" / folder, "*")
        return sum(file.stat().st_size for file in files)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Scripts on a session that also has Delta Lake or Iceberg; each script has its own JVM."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_zorder import _jars, configure
from tests.support import JVM_OPTIONS, ROOT, run_python

OURS = "io.sparkzorder.ZOrderExtensions"

_SCRIPT = """
import json
from collections import Counter
from pathlib import Path
from pyspark.errors import PySparkException
from spark_zorder import functions as F
from tests.support import neighbours
from tests.support import condition_of
folder = Path({folder!r})
spark = neighbours.session(folder, neighbours.{name}, {ours_is_outermost})
answers = {{}}
{body}
print(json.dumps(answers))
"""


@dataclass(frozen=True)
class Neighbour:
    """A table format with its own SQL extension; `packages` has the jars for each Spark line."""

    packages: dict[str, str]
    extension: str
    settings: dict[str, str]

    def jars_and_settings(self, *, ours_is_outermost: bool) -> dict[str, str]:
        """Return what a session needs that has both extensions; skip the test if there are none."""
        if _jars.pyspark_line() not in self.packages:
            pytest.skip(f"no release of {self.extension} for Spark {_jars.pyspark_line()}")
        # the parser of the last extension is the outermost
        order = [self.extension, OURS] if ours_is_outermost else [OURS, self.extension]
        return {
            "spark.jars.packages": self.packages[_jars.pyspark_line()],
            "spark.sql.extensions": ",".join(order),
            **self.settings,
        }


DELTA = Neighbour(
    {
        "3.5": "io.delta:delta-spark_2.12:3.3.3",
        "4.0": "io.delta:delta-spark_4.0_2.13:4.4.0",
        "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
    },
    "io.delta.sql.DeltaSparkSessionExtension",
    {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
    },
)
# the session catalog, which also has plain tables, and a second catalog
ICEBERG = Neighbour(
    {
        "3.5": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        "4.0": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
        "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    },
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    {
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hadoop",
        "spark.sql.catalog.spark_catalog.warehouse": "{folder}/session",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": "{folder}/ice",
    },
)


def session(folder: Path, beside: Neighbour, ours_is_outermost: bool) -> SparkSession:
    """Build the session; it writes only below `folder`."""
    settings = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": JVM_OPTIONS,
        **beside.jars_and_settings(ours_is_outermost=ours_is_outermost),
    }
    placed: dict[str, Any] = {
        key: value.replace("{folder}", str(folder)) for key, value in settings.items()
    }
    return configure(SparkSession.builder.master("local[2]").config(map=placed)).getOrCreate()


def answers(
    folder: Path, name: str, body: str, *, ours_is_outermost: bool = False
) -> dict[str, Any]:
    """Run statements beside "DELTA" or "ICEBERG", which see `spark` and `folder`.

    Returns
    -------
    dict
        What they have put into `answers`, through JSON.
    """
    beside: Neighbour = globals()[name]
    if _jars.pyspark_line() not in beside.packages:
        pytest.skip(f"{name} has no release for Spark {_jars.pyspark_line()}")
    script = _SCRIPT.format(
        folder=str(folder), name=name, ours_is_outermost=ours_is_outermost, body=body
    )
    done = run_python(script, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found

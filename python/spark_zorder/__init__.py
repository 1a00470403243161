# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""spark-zorder: multi-dimensional clustering of tables for Apache Spark.

>>> from spark_zorder import configure, ZOrderTable, functions as F

The package imports pyspark only when pyspark is needed. Without pyspark, the import of the package
and the command ``spark-zorder jar`` still work.
"""

from spark_zorder import functions
from spark_zorder._check import check
from spark_zorder._errors import MissingExtensionError
from spark_zorder._version import __version__
from spark_zorder.optimize import OptimizeBuilder
from spark_zorder.report import LayoutReport
from spark_zorder.session import configure
from spark_zorder.skipping import explain_skipping
from spark_zorder.table import ZOrderTable

__all__ = [
    "LayoutReport",
    "MissingExtensionError",
    "OptimizeBuilder",
    "ZOrderTable",
    "__version__",
    "check",
    "configure",
    "explain_skipping",
    "functions",
]

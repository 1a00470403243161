# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Which files a query reads, and why the skipping index leaves out the others."""

import uuid
from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._errors import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain_skipping(df: "DataFrame") -> "DataFrame":
    """Return which files a data frame would read, and how many files each filter leaves out.

    The query is planned, not run. During the call `df` is a temporary view with a unique name.
    The function works on classic sessions and over Spark Connect.

    .. versionadded:: 0.3.0

    Parameters
    ----------
    df : DataFrame
        Any query.

    Returns
    -------
    DataFrame
        The rows of ``SHOW SKIPPING FOR``: one for each conjunct of each scan, with the columns
        scan, table, files, filesKept, predicate, columns, used, filesDropped and reason.

    Examples
    --------
    >>> from spark_zorder import explain_skipping
    >>> explain_skipping(spark.range(3).where("id = 1")).columns[:4]
    ['scan', 'table', 'files', 'filesKept']
    """
    name = f"_zorder_explained_{uuid.uuid4().hex}"
    df.createTempView(name)
    try:
        # Spark runs a command immediately, so the view can be dropped now
        return run(df.sparkSession, f"SHOW SKIPPING FOR SELECT * FROM {_sql.identifier(name)}")
    finally:
        df.sparkSession.catalog.dropTempView(name)

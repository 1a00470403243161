"""What the skipping index does for a query."""

import uuid
from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._errors import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain_skipping(df: "DataFrame") -> "DataFrame":
    """Tell which files a data frame would read, and what each of its filters does about it.

    The query is planned, not run. For the time of the call `df` is a temporary view of a name of
    its own. Classic and Spark Connect.

    .. versionadded:: 0.1.0

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
        # a command runs at once, so the view is not needed any more
        return run(df.sparkSession, f"SHOW SKIPPING FOR SELECT * FROM {_sql.identifier(name)}")
    finally:
        df.sparkSession.catalog.dropTempView(name)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The error for sessions without the extension."""

from typing import TYPE_CHECKING
from weakref import WeakSet

from spark_zorder import _jars
from spark_zorder.session import EXTENSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# sessions that are known to have the extension: over Spark Connect, asking costs a round trip to
# the server
_have_extension: "WeakSet[SparkSession]" = WeakSet()


class MissingExtensionError(RuntimeError):
    """The Spark session does not have the spark-zorder extension.

    Parameters
    ----------
    spark_version : str
        The Spark version of the session; the message names the jar for this version.
    """

    def __init__(self, spark_version: str) -> None:
        self.spark_version = spark_version
        super().__init__(
            "This Spark session does not have the spark-zorder extension. Build the session with "
            "spark_zorder.configure(SparkSession.builder).getOrCreate() before any other session "
            "of the process (restart the notebook's kernel if there was one), or start Spark or "
            f"the Spark Connect server with {_options(spark_version)}. spark_zorder.check(spark) "
            "shows more."
        )

    def __reduce__(self) -> "tuple[type[MissingExtensionError], tuple[str]]":
        # an exception is copied by its arguments, and ours has the message there
        return type(self), (self.spark_version,)


def _options(spark_version: str) -> str:
    try:
        (jar, *_) = _jars.of_session(_jars.line_of(spark_version)).values()
    except LookupError as error:
        return (
            f"the spark-zorder jar for Spark {spark_version} and "
            f"spark.sql.extensions={EXTENSION} ({error})"
        )
    return f"--jars {jar} --conf spark.sql.extensions={EXTENSION}"


def run(spark: "SparkSession", statement: str) -> "DataFrame":
    """Run a statement; without the extension, raise our error instead of a syntax error."""
    from pyspark.errors import ParseException

    try:
        return spark.sql(statement)
    except ParseException:
        # a wrong WHERE text is a ParseException too, so ask whether the extension is there
        if is_loaded(spark):
            raise
        raise MissingExtensionError(spark.version) from None


def require_in_active_session() -> None:
    """Raise `MissingExtensionError` if the active session does not have our functions.

    Columns can be built while no session is active. In that case Spark refuses the query that uses
    the column.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None or session in _have_extension:
        return
    if not is_loaded(session):
        raise MissingExtensionError(session.version)
    _have_extension.add(session)


def is_loaded(spark: "SparkSession") -> bool:
    """Tell whether the session has our functions."""
    return spark.catalog.functionExists("interleave_bits")

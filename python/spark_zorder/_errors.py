"""The one error of our own in Python: the session runs without the extension."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class MissingExtensionError(RuntimeError):
    """The Spark session does not have the spark-zorder extension."""

    def __init__(self) -> None:
        super().__init__(
            "This Spark session does not have the spark-zorder extension. Build the session with "
            "spark_zorder.configure(SparkSession.builder).getOrCreate() before any other session "
            "of the process (restart the notebook's kernel if there was one), or start Spark or "
            "the Spark Connect server with the jar that `spark-zorder jar` prints in spark.jars. "
            "`spark-zorder check` shows more."
        )


def run(spark: "SparkSession", statement: str) -> "DataFrame":
    """Run one of our statements; without the extension say so instead of a syntax error."""
    from pyspark.errors import ParseException

    try:
        return spark.sql(statement)
    except ParseException:
        # also raised for a wrong WHERE text, so blame the session only after asking it
        if is_loaded(spark):
            raise
        raise MissingExtensionError from None


def is_loaded(spark: "SparkSession") -> bool:
    """Tell whether the session knows our functions."""
    return spark.catalog.functionExists("interleave_bits")

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Reports what is installed, and whether a session has the extension."""

import platform
from typing import TYPE_CHECKING

from spark_zorder import _jars
from spark_zorder._errors import is_loaded
from spark_zorder._version import __version__
from spark_zorder.session import EXTENSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: "SparkSession") -> bool:
    """Print versions, jars and extensions of the session, and the settings that are missing.

    Parameters
    ----------
    spark : SparkSession
        Classic or Spark Connect.

    Returns
    -------
    bool
        Whether the session has the extension.

    Examples
    --------
    >>> import spark_zorder
    >>> spark_zorder.check(spark)  # doctest: +ELLIPSIS
    spark-zorder   0.2.0
    ...
    extension      loaded
    True
    """
    loaded = is_loaded(spark)
    print("\n".join([*installed(), *_session(spark, loaded)]))  # noqa: T201 (its purpose)
    return loaded


def installed() -> list[str]:
    """Return the lines of the report that need no session."""
    rows = ", ".join(map(str, sorted(_jars.shipped())))
    return [
        f"spark-zorder   {__version__}",
        f"jars for       {rows or 'none; in a source checkout run `make jars`'}",
        f"Python         {platform.python_version()}",
    ]


def _session(spark: "SparkSession", loaded: bool) -> list[str]:
    # the folder of a server's Spark is unknown
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    home = None if is_remote else _jars.spark_home()
    jars = _jars.ours_in(_jars.class_path(lambda key: spark.conf.get(key, None), home))
    others = {version for jar in jars if (version := _jars.version_of(jar)) != __version__}
    return [
        f"Spark          {spark.version}",
        f"extensions     {spark.conf.get('spark.sql.extensions', '') or 'none set'}",
        *[f"jar            {jar} ({_jars.row_of(jar)})" for jar in jars],
        *[
            f"               is of version {version}, this package of {__version__}: "
            "use jar and package of one version"
            for version in sorted(map(str, others))
        ],
        f"extension      {'loaded' if loaded else 'NOT loaded'}",
        *([] if loaded else _advice(spark.version)),
    ]


def _advice(spark_version: str) -> list[str]:
    line = _jars.line_of(spark_version)
    try:
        found = _jars.of_session(line)
        # the Scala version of a remote server is unknown
        note = "" if line == _jars.pyspark_line() else "    # if its Scala is {}"
        jars = [f"spark.jars            {p}{note.format(row.scala)}" for row, p in found.items()]
    except LookupError as error:
        return [str(error)]
    return [
        "Build the session with spark_zorder.configure(SparkSession.builder), or add these lines "
        "to spark-defaults.conf (of the server, over Spark Connect):",
        *jars,
        f"spark.sql.extensions  {EXTENSION}",
    ]

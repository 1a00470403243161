# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The SQL functions of spark-zorder as Python functions, and all of ``pyspark.sql.functions``.

One ``F`` is enough:

>>> from spark_zorder import functions as F
>>> laid_out = spark.range(100).sort(F.zorder("id", F.col("id") % 10))

Every function here calls the SQL function of the same name. If the active session lacks the
extension, the call raises `MissingExtensionError`, and the message says what to add.

.. versionadded:: 0.3.0
"""

from typing import TYPE_CHECKING, Any

from spark_zorder import _calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column
    from pyspark.sql.functions import *  # noqa: F403

__all__ = [
    "hilbert",
    "interleave_bits",
    "ordered_bits",
    "range_partition_id",
    "zorder",
    "zorder_by_value",
]


def hilbert(*cols: "Column | str") -> "Column":
    """Compute each row's Hilbert index: rows with close indices are close in every column.

    The function ranks the values of each column as `zorder` does, and numbers the points along the
    Hilbert curve. The curve never jumps: consecutive points of the curve are neighbours.

    Parameters
    ----------
    *cols : Column or str
        1 to 9 columns of types that Spark can sort. NULL ranks before all values.

    Returns
    -------
    Column
        BIGINT, 0 or more; never NULL. With one column, the result never decreases as the column
        increases, but different values can share a result.

    Raises
    ------
    TypeError, ValueError
        An argument is neither a Column nor a name, or there are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> grid = spark.range(4).select(F.expr("id DIV 2 AS x"), F.expr("id % 2 AS y"))
    >>> [(row.x, row.y) for row in grid.sort(F.hilbert("x", "y")).collect()]
    [(0, 0), (0, 1), (1, 1), (1, 0)]
    """
    return _calls.call("hilbert", cols)


def interleave_bits(*cols: "Column | str") -> "Column":
    """Interleave the bits of columns, from the most significant down, the first column first.

    The bits are those that Spark stores, sign bit included, so negative numbers sort last. To sort
    by the result, wrap the columns in `ordered_bits`, or use `zorder_by_value`.

    Parameters
    ----------
    *cols : Column or str
        At least one column of TINYINT, SMALLINT, INT, BIGINT or BINARY, in any mix. A column that
        is shorter than the others contributes no more bits once it ends. NULL counts as zero bits.

    Returns
    -------
    Column
        BINARY, as long as all columns together; never NULL. For INT columns, the bytes equal those
        of Delta Lake's `interleave_bits`.

    Raises
    ------
    TypeError, ValueError
        An argument is neither a Column nor a name, or there are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> z = F.interleave_bits(F.lit(0), F.lit(99), F.lit(50))
    >>> spark.range(1).select(F.hex(z)).first()[0]
    '00000000000000000009901A'
    """
    return _calls.call("interleave_bits", cols)


def ordered_bits(col: "Column | str", bytes: int | None = None) -> "Column":  # noqa: A002 (SQL's name)
    """Encode a column as bytes whose unsigned order is the order of the values.

    Parameters
    ----------
    col : Column or str
        A column of any atomic type that Spark can sort. NULL becomes zero bits, -0.0 equals 0.0,
        and NaN is greater than every number.
    bytes : int, optional
        How many leading bytes of a STRING, CHAR, VARCHAR or BINARY value are used: 1 to 64, by
        default 8. Shorter values are padded with zeros on the right.

    Returns
    -------
    Column
        BINARY, of one width for each type; never NULL.

    Raises
    ------
    TypeError, ValueError
        `col` is neither a Column nor a name, or `bytes` is not an int in 1 to 64.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> df = spark.sql("SELECT * FROM VALUES (-1), (0), (1), (NULL) AS t(n)")
    >>> [row[0] for row in df.select(F.hex(F.ordered_bits("n"))).collect()]
    ['7FFFFFFF', '80000000', '80000001', '00000000']
    >>> spark.range(1).select(F.hex(F.ordered_bits(F.lit("Zürich"), bytes=4))).first()[0]
    '5AC3BC72'
    """
    return _calls.call(
        "ordered_bits", (col,), *([] if bytes is None else [_calls.byte_count(bytes)])
    )


def range_partition_id(
    col: "Column | str", n_or_bounds: "int | Sequence[Any] | Column" = 1024
) -> "Column":
    """Return the number of the range that holds each row's value; ranges are numbered in order.

    Parameters
    ----------
    col : Column or str
        A column of any type that Spark can sort. NULL is in range 0.
    n_or_bounds : int, sequence or Column, optional
        An int n samples the rows of the query and forms n ranges of about equal size. The sample
        gives at most 4096 bounds, so more than 4096 ranges have very different numbers of rows,
        and of more than 8193 ranges some stay empty. A sorted sequence of values, or an array
        Column of literals, gives the bounds. Bounds need no sampling, so streams can use them.

    Returns
    -------
    Column
        INT: 0 to n - 1, or the number of bounds that are less than the value; never NULL.

    Raises
    ------
    TypeError, ValueError
        `col` is neither a Column nor a name, or `n_or_bounds` has another type, is less than 1, is
        empty or contains None.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> df = spark.range(8).select(F.range_partition_id("id", 4).alias("r"))
    >>> [row.r for row in df.collect()]
    [0, 0, 1, 1, 2, 2, 3, 3]
    >>> df = spark.range(5, 30, 5).select("id", F.range_partition_id("id", [10, 20]).alias("r"))
    >>> [(row.id, row.r) for row in df.collect()]
    [(5, 0), (10, 0), (15, 1), (20, 1), (25, 2)]
    """
    return _calls.call("range_partition_id", (col,), _calls.count_or_bounds(n_or_bounds))


def zorder(*cols: "Column | str") -> "Column":
    """Compute each row's Z-value: rows with close Z-values are mostly close in every column.

    The function ranks the values of each column among the rows of the query, so columns of any type
    and range have equal weight. One job samples the rows for all columns.

    Parameters
    ----------
    *cols : Column or str
        1 to 63 columns of types that Spark can sort. NULL ranks before all values.

    Returns
    -------
    Column
        BIGINT, 0 or more; never NULL. With one column, the result never decreases as the column
        increases, but different values can share a result.

    Raises
    ------
    TypeError, ValueError
        An argument is neither a Column nor a name, or there are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> grid = spark.range(4).select(F.expr("id DIV 2 AS x"), F.expr("id % 2 AS y"))
    >>> [(row.x, row.y) for row in grid.sort(F.zorder("x", "y")).collect()]
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return _calls.call("zorder", cols)


def zorder_by_value(*cols: "Column | str") -> "Column":
    """Interleave the ordered bits of columns: a Z-value without sampling, fit for streams.

    The function uses the values without ranking them. A column whose values share their high bits,
    such as small numbers in a BIGINT, has almost no influence on the order. Use `zorder` if the
    rows can be sampled.

    Parameters
    ----------
    *cols : Column or str
        At least one column, of types that Spark can sort. NULL becomes zero bits.

    Returns
    -------
    Column
        BINARY, the same as ``interleave_bits(ordered_bits(c1), ...)``; never NULL.

    Raises
    ------
    TypeError, ValueError
        An argument is neither a Column nor a name, or there are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> df = spark.sql("SELECT -42Y AS a, 97Y AS b")
    >>> df.select(F.hex(F.zorder_by_value("a", "b"))).first()[0]
    '7629'
    """
    return _calls.call("zorder_by_value", cols)


def __getattr__(name: str) -> Any:
    """Return a function of pyspark, which is imported on first use."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pyspark.sql.functions

    return getattr(pyspark.sql.functions, name)


def __dir__() -> list[str]:
    import pyspark.sql.functions

    return sorted({*__all__, *dir(pyspark.sql.functions)})

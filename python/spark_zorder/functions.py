"""The SQL functions of spark-zorder as Python functions, and all of ``pyspark.sql.functions``.

One ``F`` is enough:

>>> from spark_zorder import functions as F
>>> laid_out = spark.range(100).sort(F.zorder("id", F.col("id") % 10))

Every function here is a call of the SQL function of its name. Where the active session does not
have the extension it raises `MissingExtensionError`, which says what to add.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from spark_zorder._errors import require_in_active_session

if TYPE_CHECKING:
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
    """Compute each row's Hilbert index: rows near each other in every column get near indices.

    It ranks the columns' values as `zorder` does, and numbers the points along the Hilbert curve,
    which never jumps: rows that follow each other in its order are near each other in every column.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    *cols : Column or str
        1 to 9 columns of types that Spark can sort. NULL ranks before all values.

    Returns
    -------
    Column
        BIGINT, 0 or more; never NULL. Of one column: never decreasing where the column increases.

    Raises
    ------
    TypeError
        A column is neither a Column nor a name.
    ValueError
        There are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> grid = spark.range(4).select(F.expr("id DIV 2 AS x"), F.expr("id % 2 AS y"))
    >>> [(row.x, row.y) for row in grid.sort(F.hilbert("x", "y")).collect()]
    [(0, 0), (0, 1), (1, 1), (1, 0)]
    """
    return _call("hilbert", *_columns("hilbert", cols))


def interleave_bits(*cols: "Column | str") -> "Column":
    """Interleave the bits of columns, first column's bit first, from the most significant down.

    The bits are those that Spark holds, sign bit included: for an order, put `ordered_bits` around
    the columns, or use `zorder_by_value`.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    *cols : Column or str
        At least one; TINYINT, SMALLINT, INT, BIGINT or BINARY, in any mix. A column that has run
        out of bits contributes none. NULL counts as zero bits.

    Returns
    -------
    Column
        BINARY, as long as all columns together; never NULL. For INT columns the same bytes as Delta
        Lake's expression of that name.

    Raises
    ------
    TypeError
        A column is neither a Column nor a name.
    ValueError
        There are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> z = F.interleave_bits(F.lit(0), F.lit(99), F.lit(50))
    >>> spark.range(1).select(F.hex(z)).first()[0]
    '00000000000000000009901A'
    """
    return _call("interleave_bits", *_columns("interleave_bits", cols))


def ordered_bits(col: "Column | str", bytes: int | None = None) -> "Column":  # noqa: A002 (SQL's name)
    """Encode a column so that comparing the bytes, unsigned, is comparing the values.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    col : Column or str
        Of any atomic type that Spark can sort. NULL is all zero bits, -0.0 equals 0.0, NaN is the
        greatest.
    bytes : int, optional
        For STRING, CHAR, VARCHAR and BINARY: how many leading bytes of a value count, 1 to 64;
        8 unless given. Shorter values are filled up with zeros on the right.

    Returns
    -------
    Column
        BINARY of a fixed width for the column's type; never NULL.

    Raises
    ------
    TypeError
        `col` is neither a Column nor a name, or `bytes` is not an int.
    ValueError
        `bytes` is not in 1 to 64.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> df = spark.sql("SELECT * FROM VALUES (-1), (0), (1), (NULL) AS t(n)")
    >>> [row[0] for row in df.select(F.hex(F.ordered_bits("n"))).collect()]
    ['7FFFFFFF', '80000000', '80000001', '00000000']
    >>> spark.range(1).select(F.hex(F.ordered_bits(F.lit("Zürich"), bytes=4))).first()[0]
    '5AC3BC72'
    """
    (column,) = _columns("ordered_bits", (col,))
    if bytes is None:
        return _call("ordered_bits", column)
    if not _is_int(bytes):
        raise TypeError(f"bytes must be an int, but is {type(bytes).__name__}")
    if not 1 <= bytes <= 64:
        raise ValueError(f"bytes must be in 1 to 64, but is {bytes}")
    return _call("ordered_bits", column, _lit(bytes))


def range_partition_id(
    col: "Column | str", n_or_bounds: "int | Sequence[Any] | Column" = 1024
) -> "Column":
    """Give each row the number of the range that its value is in, in the order of the values.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    col : Column or str
        Of any type that Spark can sort. NULL is in range 0.
    n_or_bounds : int, sequence or Column, optional
        An int n: the rows of the query are sampled and dealt to n ranges of about equal size. A
        sorted sequence of values, or a literal array Column: the bounds themselves; nothing is
        sampled, which is what streams need.

    Returns
    -------
    Column
        INT: 0 to n - 1, or the number of bounds below the value; never NULL.

    Raises
    ------
    TypeError
        `col` is neither a Column nor a name, or `n_or_bounds` is none of the above.
    ValueError
        n is below 1, or the bounds are empty or hold None.

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
    (column,) = _columns("range_partition_id", (col,))
    return _call("range_partition_id", column, _count_or_bounds(n_or_bounds))


def zorder(*cols: "Column | str") -> "Column":
    """Compute each row's Z-value: rows near each other in every column get near values.

    The columns' values are ranked among the rows of the query (by one sampling pass for all), so
    their types and ranges do not matter.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    *cols : Column or str
        1 to 63 columns of types that Spark can sort. NULL ranks before all values.

    Returns
    -------
    Column
        BIGINT, 0 or more; never NULL. Of one column: never decreasing where the column increases.

    Raises
    ------
    TypeError
        A column is neither a Column nor a name.
    ValueError
        There are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> grid = spark.range(4).select(F.expr("id DIV 2 AS x"), F.expr("id % 2 AS y"))
    >>> [(row.x, row.y) for row in grid.sort(F.zorder("x", "y")).collect()]
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return _call("zorder", *_columns("zorder", cols))


def zorder_by_value(*cols: "Column | str") -> "Column":
    """Interleave the ordered bits of columns: a Z-value without sampling, fit for streams.

    It takes the values as they are, so a column whose values share their high bits (small numbers
    in a BIGINT, say) hardly counts, and its rows spread over the whole order. Use `zorder` where
    the rows can be sampled.

    .. versionadded:: 0.1.0

    Parameters
    ----------
    *cols : Column or str
        At least one, of types that Spark can sort. NULL is all zero bits.

    Returns
    -------
    Column
        BINARY, the same as ``interleave_bits(ordered_bits(c1), ...)``; never NULL.

    Raises
    ------
    TypeError
        A column is neither a Column nor a name.
    ValueError
        There are no columns.

    Examples
    --------
    >>> from spark_zorder import functions as F
    >>> df = spark.sql("SELECT -42Y AS a, 97Y AS b")
    >>> df.select(F.hex(F.zorder_by_value("a", "b"))).first()[0]
    '7629'
    """
    return _call("zorder_by_value", *_columns("zorder_by_value", cols))


def __getattr__(name: str) -> Any:
    """Hand through the functions of pyspark, imported when one is first asked for."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pyspark.sql.functions

    return getattr(pyspark.sql.functions, name)


def __dir__() -> list[str]:
    import pyspark.sql.functions

    return sorted({*__all__, *dir(pyspark.sql.functions)})


def _call(name: str, *cols: "Column | str") -> "Column":
    from pyspark.sql.functions import call_function

    require_in_active_session()
    return call_function(name, *cols)


def _lit(value: Any) -> "Column":
    from pyspark.sql.functions import lit

    return lit(value)


def _columns(function: str, cols: "tuple[Column | str, ...]") -> "tuple[Column | str, ...]":
    if not cols:
        raise ValueError(f"{function} requires > 0 parameters but the actual number is 0")
    for position, col in enumerate(cols, start=1):
        if not isinstance(col, str) and not _is_column(col):
            raise TypeError(
                f"argument {position} of {function} must be a Column or str, "
                f"but is {type(col).__name__}"
            )
    return cols


def _is_column(value: object) -> "TypeGuard[Column]":
    from pyspark.sql import Column

    # in Spark 3.5 a Connect session has a Column class of its own
    connect = sys.modules.get("pyspark.sql.connect.column")
    return isinstance(value, Column) or (connect is not None and isinstance(value, connect.Column))


def _is_int(value: object) -> "TypeGuard[int]":
    # True is an int to Python, but never what somebody means here
    return isinstance(value, int) and not isinstance(value, bool)


def _count_or_bounds(value: "int | Sequence[Any] | Column") -> "Column":
    if _is_column(value):
        return value
    if _is_int(value):
        if value < 1:
            raise ValueError(f"n_or_bounds must be at least 1, but is {value}")
        return _lit(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return _bounds(value)
    raise TypeError(
        "n_or_bounds must be an int, a sequence of bounds or a Column, "
        f"but is {type(value).__name__}"
    )


def _bounds(values: Sequence[Any]) -> "Column":
    from pyspark.sql.functions import array

    if len(values) == 0:
        raise ValueError("n_or_bounds is an empty sequence: at least one bound is needed")
    if any(value is None for value in values):
        raise ValueError("n_or_bounds holds None: a bound must be a value")
    return array(*[_lit(value) for value in values])

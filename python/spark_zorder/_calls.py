# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Calls of the SQL functions, after checks of their arguments."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from spark_zorder._errors import require_in_active_session

if TYPE_CHECKING:
    from pyspark.sql import Column


def call(name: str, cols: "tuple[Column | str, ...]", *literals: "Column") -> "Column":
    """Call a function on columns, followed by literals."""
    from pyspark.sql.functions import call_function

    _check_columns(name, cols)
    require_in_active_session()
    return call_function(name, *cols, *literals)


def byte_count(value: object) -> "Column":
    """Return the argument `bytes` of `ordered_bits` as a literal."""
    if not _is_int(value):
        raise TypeError(f"bytes must be an int, but is {type(value).__name__}")
    if not 1 <= value <= 64:
        raise ValueError(f"bytes must be in 1 to 64, but is {value}")
    return _literal(value)


def count_or_bounds(value: "int | Sequence[Any] | Column") -> "Column":
    """Return the argument `n_or_bounds` of `range_partition_id` as a literal or an array."""
    if _is_column(value):
        return value
    if _is_int(value):
        if value < 1:
            raise ValueError(f"n_or_bounds must be at least 1, but is {value}")
        return _literal(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return _bounds(value)
    raise TypeError(
        "n_or_bounds must be an int, a sequence of bounds or a Column, "
        f"but is {type(value).__name__}"
    )


def _check_columns(function: str, cols: "tuple[Column | str, ...]") -> None:
    if not cols:
        raise ValueError(f"{function} requires > 0 parameters but the actual number is 0")
    for position, col in enumerate(cols, start=1):
        if not isinstance(col, str) and not _is_column(col):
            raise TypeError(
                f"argument {position} of {function} must be a Column or str, "
                f"but is {type(col).__name__}"
            )


def _bounds(values: Sequence[Any]) -> "Column":
    from pyspark.sql.functions import array

    if len(values) == 0:
        raise ValueError("n_or_bounds is an empty sequence: at least one bound is needed")
    if any(value is None for value in values):
        raise ValueError("n_or_bounds holds None: a bound must be a value")
    return array(*[_literal(value) for value in values])


def _literal(value: Any) -> "Column":
    from pyspark.sql.functions import lit

    return lit(value)


def _is_column(value: object) -> "TypeGuard[Column]":
    from pyspark.sql import Column

    # Spark 3.5 has a separate Column class for Connect sessions
    connect = sys.modules.get("pyspark.sql.connect.column")
    return isinstance(value, Column) or (connect is not None and isinstance(value, connect.Column))


def _is_int(value: object) -> "TypeGuard[int]":
    # bool is a subclass of int, but a bool here is always a mistake
    return isinstance(value, int) and not isinstance(value, bool)

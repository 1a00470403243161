# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Boxes: the ranges between the min and max of some columns, for each file."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Bounds = tuple[Any, Any]


@dataclass(frozen=True)
class Box:
    """The number of rows of a file, and the min and max of each column.

    The bounds of a column are None if they are unknown, or if all values are NULL.
    """

    rows: int
    bounds: tuple[Bounds | None, ...]

    def holds(self, column: int, value: Any) -> bool:
        """Tell whether a value lies between the min and max of a column."""
        bounds = self.bounds[column]
        return bounds is not None and bounds[0] <= value <= bounds[1]


def comparable(ends: Sequence[tuple[str | None, str | None]]) -> list[Bounds | None]:
    """Convert ends of ranges from text to numbers, if all of them are numbers."""
    texts = [None if low is None or high is None else (low, high) for low, high in ends]
    try:
        return [None if text is None else _numbers(*text) for text in texts]
    except ValueError:
        return list(texts)


def _numbers(low: str, high: str) -> Bounds:
    bounds = _number(low), _number(high)
    # a text column with digits: its min, such as '10', can be greater than its max, such as '9'
    if bounds[0] > bounds[1]:
        raise ValueError(f"{low} > {high}")
    return bounds


# as Spark writes them, and in its order: nothing is greater than NaN
_WORDS = {"NaN": math.inf, "Infinity": math.inf, "-Infinity": -math.inf}


def _number(text: str) -> int | float:
    if text in _WORDS:
        return _WORDS[text]
    # only Python reads 1_000 and nan as numbers; 007 is an identifier rather than a number
    if not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?(E[+-]?\d+)?", text, re.IGNORECASE | re.ASCII):
        raise ValueError(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)

"""The boxes that files span in the space of some columns, from their least and greatest values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Bounds = tuple[Any, Any]


@dataclass(frozen=True)
class Box:
    """A file's rows, and its least and greatest value of each column (None: unknown or NULL)."""

    rows: int
    bounds: tuple[Bounds | None, ...]

    def holds(self, column: int, value: Any) -> bool:
        """Whether min/max leaves room for the value."""
        bounds = self.bounds[column]
        return bounds is not None and bounds[0] <= value <= bounds[1]


def comparable(ends: Sequence[tuple[str | None, str | None]]) -> list[Bounds | None]:
    """Turn the ends of ranges, which SHOW LAYOUT gives as text, into numbers if all of them are."""
    texts = [None if low is None or high is None else (low, high) for low, high in ends]
    try:
        return [None if text is None else _numbers(*text) for text in texts]
    except ValueError:
        return list(texts)


def _numbers(low: str, high: str) -> Bounds:
    bounds = _number(low), _number(high)
    # digits that are ordered as text are text
    if bounds[0] > bounds[1]:
        raise ValueError(f"{low} > {high}")
    return bounds


def _number(text: str) -> int | float:
    # 1_000, which only Python takes for a number, and 007 stay texts
    if "_" in text or re.match(r"-?0\d", text):
        raise ValueError(text)
    try:
        return int(text)
    except ValueError:
        return float(text)

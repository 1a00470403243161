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
    try:
        numbers = [_bounds(low, high, _number) for low, high in ends]
    except ValueError:
        numbers = []
    # digits that are ordered as text are text
    if len(numbers) < len(ends) or any(b is not None and b[0] > b[1] for b in numbers):
        return [_bounds(low, high, str) for low, high in ends]
    return numbers


def _bounds(low: str | None, high: str | None, convert: Any) -> Bounds | None:
    return None if low is None or high is None else (convert(low), convert(high))


def _number(text: str) -> int | float:
    # 1_000, which only Python takes for a number, and 007 stay texts
    if "_" in text or re.match(r"-?0\d", text):
        raise ValueError(text)
    try:
        return int(text)
    except ValueError:
        return float(text)

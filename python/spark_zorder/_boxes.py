"""The boxes that files span in the space of some columns, from their least and greatest values."""

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
        return [_bounds(low, high, _number) for low, high in ends]
    except ValueError:
        return [_bounds(low, high, str) for low, high in ends]


def _bounds(low: str | None, high: str | None, convert: Any) -> Bounds | None:
    return None if low is None or high is None else (convert(low), convert(high))


def _number(text: str) -> int | float:
    # texts such as 1_000 and 0x10, that only Python takes for numbers, stay texts
    if "_" in text:
        raise ValueError(text)
    try:
        return int(text)
    except ValueError:
        return float(text)

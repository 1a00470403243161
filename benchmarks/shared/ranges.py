"""A range of one column, as a query asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

# dates are days since 1970
V = TypeVar("V", int, str)


@dataclass(frozen=True)
class Range(Generic[V]):
    """A closed range of one column; a point when both ends are equal."""

    column: str
    low: V
    high: V

    def sql(self) -> str:
        """Return a range of numbers as a condition that Spark and DuckDB understand alike."""
        if self.low == self.high:
            return f"{self.column} = {self.low}"
        return f"{self.column} between {self.low} and {self.high}"


def point(column: str, value: V) -> Range[V]:
    """Return the range of one value."""
    return Range(column, value, value)

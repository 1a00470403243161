# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A range of one column in a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

# dates are days since 1970
V = TypeVar("V", int, str)


@dataclass(frozen=True)
class Range(Generic[V]):
    """A closed range of one column; if both ends are equal, a point."""

    column: str
    low: V
    high: V

    def sql(self) -> str:
        """Return a range of numbers as a condition for Spark and DuckDB."""
        if self.low == self.high:
            return f"{self.column} = {self.low}"
        return f"{self.column} between {self.low} and {self.high}"


def point(column: str, value: V) -> Range[V]:
    """Return the range that contains one value."""
    return Range(column, value, value)

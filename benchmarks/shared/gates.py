# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Numbers with the limits that a benchmark checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.shared.markdown import table


@dataclass(frozen=True)
class Gate:
    """A number with its upper or lower limit."""

    what: str
    value: float
    limit: float
    at_least: bool = False

    def holds(self) -> bool:
        """Tell whether the number is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def gates(found: Iterable[Gate], digits: str = ".2f") -> str:
    """Return a table of gates and their numbers, which are printed in the format `digits`."""
    rows = [
        [
            g.what,
            f"{g.value:{digits}}",
            f"{'>=' if g.at_least else '<='} {g.limit:g}",
            "pass" if g.holds() else "FAIL",
        ]
        for g in found
    ]
    return table(["gate", "measured", "limit", ""], rows) if rows else ""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The results: plain data, one JSON file for each run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.speed.statistics import Spread, spread

SPARK, OURS, DELTA, ICEBERG = "Spark", "Spark with the index", "Delta Lake", "Iceberg"


@dataclass(frozen=True)
class Measured:
    """The milliseconds of one task of one contender, round by round."""

    what: str
    contender: str
    files: int
    millis: Sequence[float]


@dataclass(frozen=True)
class Results:
    """One run of the benchmark; `index` has the results of the JVM benchmark of the index."""

    command: str
    machine: Mapping[str, str]
    measured: Sequence[Measured]
    index: Sequence[Mapping[str, Sequence[float]]]

    def of(self, what: str, files: int, contender: str) -> Sequence[float]:
        """Return the milliseconds of a contender; empty if it did not take part."""
        key = (what, files, contender)
        return next((m.millis for m in self.measured if (m.what, m.files, m.contender) == key), ())

    def ratio(self, what: str, files: int, contender: str) -> Spread | None:
        """Return the ratio of Spark alone to a contender, round by round."""
        return _spread(
            spark / other
            for spark, other in zip(
                self.of(what, files, SPARK), self.of(what, files, contender), strict=False
            )
        )

    def difference(self, what: str, files: int) -> Spread | None:
        """Return the milliseconds that ours took more than Spark alone, round by round."""
        return _spread(
            ours - spark
            for spark, ours in zip(
                self.of(what, files, SPARK), self.of(what, files, OURS), strict=False
            )
        )

    def save(self, target: Path) -> None:
        """Write the results as JSON."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(asdict(self), indent=1) + "\n")


def load(source: Path) -> Results:
    """Read a file that `save` has written."""
    read = json.loads(source.read_text())
    return Results(**{**read, "measured": [Measured(**m) for m in read["measured"]]})


def _spread(numbers: Iterable[float]) -> Spread | None:
    found = list(numbers)
    return spread(found) if found else None

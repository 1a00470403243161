"""What was measured: plain data, kept as one JSON file a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.speed.statistics import Spread, spread

SPARK, OURS, DELTA, ICEBERG = "Spark", "Spark with the index", "Delta Lake", "Iceberg"


@dataclass(frozen=True)
class Measured:
    """Milliseconds of one thing that one contender did, round by round."""

    what: str
    contender: str
    files: int
    millis: Sequence[float]


@dataclass(frozen=True)
class Results:
    """One run of the benchmark; `index` is what the JVM's own benchmark says of some indexes."""

    command: str
    machine: Mapping[str, str]
    measured: Sequence[Measured]
    index: Sequence[Mapping[str, Sequence[float]]]

    def of(self, what: str, files: int, contender: str) -> Sequence[float]:
        """Return the milliseconds of a contender; none if it did not take part."""
        key = (what, files, contender)
        return next((m.millis for m in self.measured if (m.what, m.files, m.contender) == key), ())

    def ratio(self, what: str, files: int, contender: str) -> Spread | None:
        """Return how many times as long Spark alone took, round by round."""
        return _spread(
            spark / other
            for spark, other in zip(
                self.of(what, files, SPARK), self.of(what, files, contender), strict=False
            )
        )

    def difference(self, what: str, files: int) -> Spread | None:
        """Return how many milliseconds longer ours took than Spark alone, round by round."""
        return _spread(
            ours - spark
            for spark, ours in zip(
                self.of(what, files, SPARK), self.of(what, files, OURS), strict=False
            )
        )

    def save(self, target: Path) -> None:
        """Write everything as JSON."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(asdict(self), indent=1) + "\n")


def load(source: Path) -> Results:
    """Read what `save` has written."""
    read = json.loads(source.read_text())
    return Results(**{**read, "measured": [Measured(**m) for m in read["measured"]]})


def _spread(numbers: Iterable[float]) -> Spread | None:
    found = list(numbers)
    return spread(found) if found else None

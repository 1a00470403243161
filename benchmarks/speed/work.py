"""The work of Spark's tasks in a period: shuffled and spilled bytes, garbage collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Work:
    """Sums over the tasks of stages."""

    shuffle_bytes: int
    spilled_bytes: int
    gc_millis: int


class Meter:
    """Reads Spark's status store, which exists without the web UI."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark._jsc.sc()
        self._gateway: Any = spark.sparkContext._gateway
        self._seen: set[tuple[int, int]] = set()

    def reset(self) -> None:
        """Start counting."""
        self._seen = {_key(stage) for stage in self._stages()}

    def read(self) -> Work:
        """Return the work of the stages since the last reset."""
        new = [stage for stage in self._stages() if _key(stage) not in self._seen]
        return Work(
            sum(stage.shuffleWriteBytes() for stage in new),
            sum(stage.diskBytesSpilled() for stage in new),
            sum(stage.jvmGcTime() for stage in new),
        )

    def _stages(self) -> list[Any]:
        # metrics arrive on a queue of their own
        self._context.listenerBus().waitUntilEmpty()
        none = self._gateway.new_array(self._gateway.jvm.double, 0)
        empty = self._gateway.jvm.java.util.ArrayList()
        stages = self._context.statusStore().stageList(None, False, False, none, empty)
        return [stages.apply(i) for i in range(stages.length())]


def _key(stage: Any) -> tuple[int, int]:
    return stage.stageId(), stage.attemptId()

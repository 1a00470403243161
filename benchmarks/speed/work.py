# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The work of Spark in a period: processor time, shuffled and spilled bytes, garbage collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Work:
    """
    Processor seconds of the process, and sums over the tasks of stages.

    Driver and tasks share one process. Its seconds include the driver's planning, garbage
    collection and the compilation of code, which the tasks' own seconds leave out. On a busy
    machine threads that collect garbage wait by spinning, so that the tasks' seconds vary less.
    """

    cpu_seconds: float
    task_cpu_seconds: float
    shuffle_bytes: int
    spilled_bytes: int
    gc_millis: int


class Meter:
    """Reads Spark's status store, which exists without the web UI."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark._jsc.sc()
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        self._seen: set[tuple[int, int]] = set()
        source = gateway.jvm.org.apache.spark.metrics.source.JVMCPUSource()
        self._nanos = source.metricRegistry().getGauges().get("jvmCpuTime")
        self._start = 0.0

    def reset(self) -> None:
        """Start counting."""
        self._seen = {_key(stage) for stage in self.stages()}
        self._start = self._cpu_seconds()

    def read(self) -> Work:
        """Return the work since the last reset."""
        cpu = self._cpu_seconds() - self._start
        new = [stage for stage in self.stages() if _key(stage) not in self._seen]
        return Work(
            cpu,
            sum(stage.executorCpuTime() for stage in new) / 1e9,
            sum(stage.shuffleWriteBytes() for stage in new),
            sum(stage.diskBytesSpilled() for stage in new),
            sum(stage.jvmGcTime() for stage in new),
        )

    def _cpu_seconds(self) -> float:
        return float(self._nanos.getValue()) / 1e9

    def stages(self) -> list[Any]:
        """Return all stages that have run, as Spark's status store has them."""
        # metrics arrive on a queue of their own
        self._context.listenerBus().waitUntilEmpty()
        none = self._gateway.new_array(self._gateway.jvm.double, 0)
        empty = self._gateway.jvm.java.util.ArrayList()
        stages = self._context.statusStore().stageList(None, False, False, none, empty)
        return [stages.apply(i) for i in range(stages.length())]


def _key(stage: Any) -> tuple[int, int]:
    return stage.stageId(), stage.attemptId()

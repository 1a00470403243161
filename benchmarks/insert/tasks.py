# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What the tasks of a session have cost, by Spark's own metrics."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def task_seconds(spark: SparkSession) -> float:
    """Return the processor time of all tasks so far. Other programs do not count."""
    context: Any = spark.sparkContext
    gateway = context._gateway
    lists = gateway.jvm.java.util.ArrayList
    none = gateway.new_array(gateway.jvm.double, 0)
    scala = context._jsc.sc()
    # the events of the last tasks may still be on their way
    scala.listenerBus().waitUntilEmpty()
    stages = scala.statusStore().stageList(lists(), False, False, none, lists())
    return float(sum(stages.apply(i).executorCpuTime() for i in range(stages.size()))) / 1e9

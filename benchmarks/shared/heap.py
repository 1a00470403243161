# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What the JVM of a session held."""

from __future__ import annotations

from pyspark.sql import SparkSession


def most_in_old_generation(spark: SparkSession) -> int:
    """Return the most that the driver's old generation held, in MB."""
    factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    old = [pool for pool in factory.getMemoryPoolMXBeans() if "Old" in pool.getName()]
    return int(max(pool.getPeakUsage().getUsed() for pool in old) // 1_000_000)

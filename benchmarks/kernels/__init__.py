# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Micro-benchmarks of the kernels: JMH in Scala, and a table of the results."""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Benchmarks of spark-zorder; they are not part of the package."""

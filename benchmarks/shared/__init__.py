# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Helpers of several benchmarks."""

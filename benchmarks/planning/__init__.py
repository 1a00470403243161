# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Measures how long it takes to find the files of a query."""

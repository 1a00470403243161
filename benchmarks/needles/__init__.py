# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Measures look-ups of single values by a column that does not order the table."""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The effect of layouts: TPC-DS ``store_sales`` in three layouts, measured and drawn."""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""All queries of TPC-DS and TPC-H on several layouts of the large tables."""

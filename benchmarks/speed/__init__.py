# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The cost of OPTIMIZE, beside plain writing, sorting and the commands of table formats."""

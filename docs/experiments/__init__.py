# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Programs that repeat experiments and write the results into pages of the documentation."""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Pages that are made from the code they describe, and pictures."""

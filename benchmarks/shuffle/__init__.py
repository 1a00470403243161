# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Ways to make the shuffle of OPTIMIZE cheaper: another codec, or fewer partitions."""

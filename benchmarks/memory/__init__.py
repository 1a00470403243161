# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Memory: what OPTIMIZE needs on the driver and in its tasks."""

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Makes the pages that describe code from this code, and makes pictures."""

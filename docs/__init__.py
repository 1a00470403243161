# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Programs that make pages and pictures of the documentation."""

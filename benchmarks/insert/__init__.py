# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""What the order of a table costs an INSERT, and what the files are worth."""

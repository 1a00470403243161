# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The version of the package and, by a test, of the jars in it."""

__version__ = "0.2.0"

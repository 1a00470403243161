# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The version of the package. The jars in it have the same version; a test checks this."""

__version__ = "0.2.0"

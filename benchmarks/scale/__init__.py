# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""OPTIMIZE of very many files on a cluster."""

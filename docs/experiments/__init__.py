# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Experiments whose results stand on pages that the programs write themselves."""

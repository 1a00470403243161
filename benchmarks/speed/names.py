# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The names of contenders, and of the phases of OPTIMIZE, in the order of tables and plots."""

COPY, PLAIN, LEXICAL, OPTIMIZE = "copy", "plain", "lexical", "optimize"
# Spark sorts the rows of `plain` by their hash before it deals them; these are dealt as they come
PLAIN_UNSORTED = "plain_unsorted"
DELTA_ZORDER, DELTA_CLUSTER = "delta_zorder", "delta_cluster"
ICEBERG, ICEBERG_HILBERT = "iceberg", "iceberg_hilbert"
# our layout, by a commit of the format
OPTIMIZE_DELTA, OPTIMIZE_ICEBERG = "optimize_delta", "optimize_iceberg"

OURS_AND_LIMITS = (COPY, PLAIN_UNSORTED, PLAIN, LEXICAL, OPTIMIZE)
PEERS = (DELTA_ZORDER, DELTA_CLUSTER, ICEBERG, ICEBERG_HILBERT)
# each beside the commands of its format
OURS_IN_FORMATS = {
    OPTIMIZE_DELTA: (DELTA_ZORDER, DELTA_CLUSTER),
    OPTIMIZE_ICEBERG: (ICEBERG, ICEBERG_HILBERT),
}
OURS = (OPTIMIZE, *OURS_IN_FORMATS)
OF_FORMATS = (*OURS_IN_FORMATS, *PEERS)
EVERYONE = OURS_AND_LIMITS + OF_FORMATS

# plain writes deal rows regardless of partitions, and Delta's CLUSTER BY has none
OF_PARTITIONS = (OPTIMIZE, *OURS_IN_FORMATS, DELTA_ZORDER, ICEBERG, ICEBERG_HILBERT)

PHASES = (
    "check",
    "list",
    "footers",
    "sample",
    "cuts",
    "write",
    "verify",
    "commit",
    "publish",
    "refresh",
)

"""The names of contenders, and of the phases of OPTIMIZE, in the order of tables and plots."""

COPY, PLAIN, LEXICAL, OPTIMIZE = "copy", "plain", "lexical", "optimize"
# Spark sorts the rows of `plain` by their hash before it deals them; these are dealt as they come
PLAIN_UNSORTED = "plain_unsorted"
DELTA_ZORDER, DELTA_CLUSTER, ICEBERG = "delta_zorder", "delta_cluster", "iceberg"

OURS_AND_LIMITS = (COPY, PLAIN_UNSORTED, PLAIN, LEXICAL, OPTIMIZE)
PEERS = (DELTA_ZORDER, DELTA_CLUSTER, ICEBERG)
EVERYONE = OURS_AND_LIMITS + PEERS

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

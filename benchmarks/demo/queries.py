# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The queries that run on every layout."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.shared.ranges import Range, point

CUSTOMER = "ss_customer_sk"
DEMOGRAPHICS = "ss_cdemo_sk"
COLUMNS = (CUSTOMER, DEMOGRAPHICS)


@dataclass(frozen=True)
class Query:
    """A query for the rows within all ranges."""

    ranges: tuple[Range[int], ...]

    def where(self) -> str:
        """Return the condition of the query."""
        return " and ".join(r.sql() for r in self.ranges)


# the two point queries of Impala's text on Z-order, which asks this table too
ONE_CUSTOMER = point(CUSTOMER, 49_969)
ONE_DEMOGRAPHICS = point(DEMOGRAPHICS, 961_370)

# 1 % of the keys: there are 100,000 customers and 1,920,800 demographics at scale 1
QUERIES = (
    Query((ONE_CUSTOMER,)),
    Query((ONE_DEMOGRAPHICS,)),
    Query((ONE_CUSTOMER, ONE_DEMOGRAPHICS)),
    Query((Range(CUSTOMER, 49_969, 50_968),)),
    Query((Range(DEMOGRAPHICS, 961_370, 980_577),)),
)

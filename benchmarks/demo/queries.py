"""The queries that every layout is asked."""

from __future__ import annotations

from dataclasses import dataclass

CUSTOMER = "ss_customer_sk"
DEMOGRAPHICS = "ss_cdemo_sk"
COLUMNS = (CUSTOMER, DEMOGRAPHICS)


@dataclass(frozen=True)
class Range:
    """A closed range of one column; a point when both ends are equal."""

    column: str
    low: int
    high: int

    def sql(self) -> str:
        """Return the range as a condition that Spark and DuckDB understand alike."""
        if self.low == self.high:
            return f"{self.column} = {self.low}"
        return f"{self.column} between {self.low} and {self.high}"


@dataclass(frozen=True)
class Query:
    """Rows that lie in all the ranges."""

    ranges: tuple[Range, ...]

    def where(self) -> str:
        """Return the condition of the query."""
        return " and ".join(r.sql() for r in self.ranges)


# the two point queries of Impala's text on Z-order, which asks this table too
ONE_CUSTOMER = Range(CUSTOMER, 49_969, 49_969)
ONE_DEMOGRAPHICS = Range(DEMOGRAPHICS, 961_370, 961_370)

# 1 % of the keys: there are 100,000 customers and 1,920,800 demographics at scale 1
QUERIES = (
    Query((ONE_CUSTOMER,)),
    Query((ONE_DEMOGRAPHICS,)),
    Query((ONE_CUSTOMER, ONE_DEMOGRAPHICS)),
    Query((Range(CUSTOMER, 49_969, 50_968),)),
    Query((Range(DEMOGRAPHICS, 961_370, 980_577),)),
)

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The tables, and the columns that they are laid out by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A generated table."""

    benchmark: str
    table: str


@dataclass(frozen=True)
class Case:
    """A table, its ordering columns, and the column of its partitions if it has some."""

    name: str
    source: Source
    columns: tuple[str, ...]
    partition: str | None = None


SALES = Source("tpcds", "store_sales")
LINES = Source("tpch", "lineitem")

CASES = (
    Case("sales-2", SALES, ("ss_customer_sk", "ss_cdemo_sk")),
    Case("sales-4", SALES, ("ss_customer_sk", "ss_cdemo_sk", "ss_item_sk", "ss_sold_date_sk")),
    Case("lines-2", LINES, ("l_partkey", "l_shipdate")),
    # a comment is a string of nearly as many values as rows
    Case("lines-4", LINES, ("l_orderkey", "l_partkey", "l_shipdate", "l_comment")),
    # six stores, each with as many rows
    Case("sales-2-parts", SALES, ("ss_customer_sk", "ss_cdemo_sk"), "ss_store_sk"),
)


def files_at(scale: float) -> int:
    """Return how many files a table has: 64 at scale factor 1, and files of that size elsewhere."""
    return max(4, round(64 * scale))

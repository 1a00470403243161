# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Where the experiments run, and how large their tables are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from docs.experiments.lab import Lab


@dataclass(frozen=True)
class Setting:
    """The folders and sizes of a run; tests have smaller tables."""

    spark: SparkSession
    folder: Path
    # one Parquet file with TPC-DS store_sales, or a part of it
    store_sales: Path
    images: Path
    rows: int = 400_000
    files: int = 16
    many_files: int = 64
    # the page size for store_sales, which Impala's text advises
    sales_page_rows: int = 20_000
    # the page size for the generated tables, which are smaller
    page_rows: int = 1_000

    def lab(self, page_rows: int | None = None) -> Lab:
        """Return a lab whose pages have at most `page_rows` rows."""
        return Lab(self.spark, self.folder, page_rows or self.page_rows)

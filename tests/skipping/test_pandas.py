# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Masks of pandas-on-Spark read only the files that they ask for."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_zorder import explain_skipping
from tests.support import data_files, rows_of

FILES = 16


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 16 files in a grid over `ordered_at` and `customer`: one column leaves 4."""
    path = tmp_path_factory.mktemp("pandas") / "orders"
    spark.range(0, 16000, 1, 4).selectExpr(
        "timestamp'2024-01-01' + make_dt_interval(0, 0, cast(id as int) * 60) ordered_at",
        "pmod(id * 7919, 16000) customer",
        "lpad(pmod(id * 7919, 16000), 6, '0') name",
        "id % 5 other",
    ).write.parquet(str(path))
    size = sum(f.stat().st_size for f in data_files(path)) // FILES
    spark.sql(
        f"OPTIMIZE TABLE '{path}' ZORDER BY (ordered_at, customer) "
        f"OPTIONS ('targetFileSize' '{size}')"
    )
    assert len(data_files(path)) == FILES
    return str(path)


def under_fifty(d: Any) -> Any:
    return d[d.customer < 50]


MASKS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "equal": (lambda d: d[d.customer == 5], 4),
    "and": (lambda d: d[(d.customer == 5) & (d.other > 1)], 4),
    "and of four": (
        lambda d: d[(d.customer == 5) & (d.other > 1) & (d.customer < 9) & (d.name != "x")],
        4,
    ),
    "or": (lambda d: d[(d.customer == 5) | (d.customer == 7)], 4),
    "or of and": (
        lambda d: d[((d.customer == 5) & (d.other == 0)) | ((d.customer < 9) & (d.other == 1))],
        4,
    ),
    "not": (lambda d: d[~(d.customer >= 100)], 4),
    "not of and": (lambda d: d[~((d.customer >= 100) & (d.customer < 99999))], 4),
    "not equal": (lambda d: d[(d.customer != 5) & (d.customer < 9)], 4),
    "between": (lambda d: d[d.customer.between(5, 50)], 4),
    "a mask on a mask": (lambda d: under_fifty(d[d.other == 1]), 4),
    "year": (lambda d: d[(d.ordered_at.dt.year == 2024) & (d.customer == 7)], 4),
    "a later year": (lambda d: d[~(d.ordered_at.dt.year <= 2024)], 8),
    "isin": (lambda d: d[d.customer.isin([5, 6, 7])], 4),
    "not isin": (lambda d: d[~d.customer.isin([5, 6]) & (d.customer < 9)], 4),
    "times": (lambda d: d[(d.ordered_at >= "2024-01-01") & (d.ordered_at < "2024-01-02")], 4),
    "loc": (lambda d: d.loc[d.customer > 15990, ["other", "name"]], 4),
    "query": (lambda d: d.query("customer == 5 and other > 1"), 4),
    "notnull": (lambda d: d[d.customer.notnull() & (d.customer < 9)], 4),
    "isnull": (lambda d: d[d.customer.isnull()], 0),
    "filled": (lambda d: d[d.customer.fillna(0) > 15990], 4),
    "sum of a mask": (lambda d: d[(d.customer + 1) < 9], 4),
}


# one of each kind; MaskSuite has the shapes of the others
QUICK = {"equal", "and", "or of and", "not of and", "between", "year", "isin", "isnull", "filled"}


def kept(df: DataFrame) -> int:
    shown = explain_skipping(df).collect()
    return int(shown[0].filesKept) if shown else 0


@pytest.mark.not_connect
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in MASKS],
)
def test_a_mask_reads_few_files(spark: SparkSession, orders: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ps = pytest.importorskip("pyspark.pandas")
        mask, most = MASKS[name]
        df = mask(ps.read_parquet(orders)).to_spark()
        assert kept(df) <= most
        found = rows_of(df)
        spark.conf.set("spark.zorder.skipping.enabled", "false")
        try:
            assert rows_of(mask(ps.read_parquet(orders)).to_spark()) == found
        finally:
            spark.conf.unset("spark.zorder.skipping.enabled")


@pytest.mark.parametrize("ids", [[5, 7, 9], [5]])
def test_bound_lists_read_few_files(spark: SparkSession, orders: str, ids: list[int]) -> None:
    spark.read.parquet(orders).createOrReplaceTempView("orders_of_pandas")
    df = spark.sql(
        "SELECT * FROM orders_of_pandas WHERE array_contains(:ids, customer)", args={"ids": ids}
    )
    assert kept(df) <= 4
    assert {r.customer for r in df.collect()} == set(ids)

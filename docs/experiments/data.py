# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The tables of the experiments: the same rows on every machine, by hashes of row numbers."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession

from spark_zorder import functions as F


def uniform(spark: SparkSession, rows: int, columns: int) -> DataFrame:
    """Independent columns a, b, ... whose values are spread evenly over 0 to rows - 1."""
    names = [chr(ord("a") + i) for i in range(columns)]
    made = [_below(rows, seed).cast("int").alias(name) for seed, name in enumerate(names)]
    return _numbered(spark, rows).select(*made)


def flights(spark: SparkSession, rows: int) -> DataFrame:
    """Departures over a year in minutes, arrivals 30 to 600 minutes later, one of 50,000 planes."""
    departure = _below(365 * 24 * 60, 0)
    return _numbered(spark, rows).select(
        departure.cast("int").alias("departure"),
        (departure + 30 + _below(571, 1)).cast("int").alias("arrival"),
        _below(50_000, 2).cast("int").alias("plane"),
    )


def orders(spark: SparkSession, rows: int) -> DataFrame:
    """A column of 2 values, one of 5, and one that hardly repeats."""
    return _numbered(spark, rows).select(
        _below(2, 0).cast("int").alias("paid"),
        _below(5, 1).cast("int").alias("status"),
        _below(rows, 2).cast("int").alias("customer"),
    )


def sparse(spark: SparkSession, rows: int) -> DataFrame:
    """Two BIGINT columns: one spread over 2^62 values, the other within 0 to 999,999."""
    return _numbered(spark, rows).select(
        _below(1 << 62, 0).alias("wide"), _below(1_000_000, 1).alias("narrow")
    )


def sizes(spark: SparkSession, rows: int) -> DataFrame:
    """Two columns like sizes and amounts: each range from 2^k to 2^(k+1) has equally many rows."""

    def power(seed: int) -> Column:
        exponent = _below(40_000, seed) / 1000
        return F.floor(F.pow(F.lit(2.0), exponent)).cast("bigint")

    return _numbered(spark, rows).select(power(0).alias("bytes"), power(1).alias("price"))


def _numbered(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(0, rows, 1, 4)


def _below(limit: int, seed: int) -> Column:
    return F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(limit).cast("bigint"))

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Spark reads names and texts that `_sql` has quoted without a change."""

import pytest
from pyspark.sql import SparkSession

from spark_zorder import _sql

AWKWARD = [
    "it's",
    'say "x"',
    "back\\slash",
    "end\\",
    "`tick`",
    "a.b",
    "-- c",
    "/* c */",
    "日本",
    "\n",
]


@pytest.mark.parametrize("text", AWKWARD)
def test_a_string_literal_means_its_text(spark: SparkSession, text: str) -> None:
    assert spark.sql(f"SELECT {_sql.string(text)}").first() == (text,)


@pytest.mark.parametrize("text", [*AWKWARD[:3], "it's C:\\x", "it\\'s", 'it\\"s', *AWKWARD[4:]])
def test_a_string_literal_means_its_text_where_backslashes_escape_nothing(
    spark: SparkSession, text: str
) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        assert spark.sql(f"SELECT {_sql.string(text, spark)}").first() == (text,)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


@pytest.mark.parametrize("text", ["end\\", "'\"", "\\\\'\""])
def test_a_text_that_no_literal_can_have_is_refused(spark: SparkSession, text: str) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        with pytest.raises(ValueError, match="no literal of SQL has the text"):
            _sql.string(text, spark)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


@pytest.mark.parametrize("text", AWKWARD)
def test_a_quoted_name_means_its_text(spark: SparkSession, text: str) -> None:
    assert spark.sql(f"SELECT 1 AS {_sql.quote(text)}").columns == [text]

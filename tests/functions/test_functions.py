# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The functions through Python, over a classic session, Spark Connect and Spark 3.5.

The kernels are tested on the JVM; here it is that Python reaches them with what it was given, and
says so where it was given something else.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pyspark.sql.functions
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession

from spark_zorder import functions as F
from tests.support import condition_of


@pytest.fixture
def points(spark: SparkSession) -> DataFrame:
    """A shuffled 8 x 8 grid; the type and the range of y differ from those of x."""
    rows = spark.range(64).select(F.expr("int(id * 37 % 64) AS cell"))
    return rows.select(
        F.expr("cell DIV 8 AS x"),
        F.expr("date'2026-01-01' + 100 * (cell % 8) AS y"),
        F.expr("cell DIV 8 AS grid_x"),
        F.expr("cell % 8 AS grid_y"),
    )


def interleaved(columns: list[bytes]) -> bytes:
    """Interleave bit by bit, as text: slow but obvious."""
    bits = [f"{int.from_bytes(column, 'big'):0{8 * len(column)}b}" for column in columns]
    text = "".join(b[i] for i in range(max(map(len, bits))) for b in bits if i < len(b))
    return int(text, 2).to_bytes(len(text) // 8, "big")


def value_of(spark: SparkSession, column: Column) -> Any:
    row = spark.range(1).select(column).first()
    assert row is not None
    return bytes(row[0]) if isinstance(row[0], bytearray) else row[0]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 31, 63])
def test_interleave_bits_takes_any_number_of_columns(spark: SparkSession, count: int) -> None:
    values = [bytes([(37 * i + k * 101) % 256 for k in range(1 + i % 5)]) for i in range(count)]
    column = F.interleave_bits(*[F.lit(bytearray(value)) for value in values])
    assert value_of(spark, column) == interleaved(values)


def test_interleave_bits_counts_null_as_zeros_and_mixes_types(spark: SparkSession) -> None:
    df = spark.sql("SELECT INT(NULL) AS i, -1Y AS t, 258S AS s, -2L AS l")
    column = F.interleave_bits("i", F.col("t"), "s", "l")
    row = df.select(column).first()
    assert row is not None
    whole = [bytes(4), b"\xff", b"\x01\x02", (2**64 - 2).to_bytes(8, "big")]
    assert bytes(row[0]) == interleaved(whole)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", "01"),
        ("-1Y", "7F"),
        ("-1S", "7FFF"),
        ("-1", "7FFFFFFF"),
        ("-1L", "7FFFFFFFFFFFFFFF"),
        ("date'1970-01-01'", "80000000"),
        ("timestamp'1970-01-01 00:00:00'", "8000000000000000"),
        ("1.5D", "BFF8000000000000"),
        ("-0.0D", "8000000000000000"),
        ("'abc'", "6162630000000000"),
        ("'longer than eight'", "6C6F6E6765722074"),
    ],
)
def test_ordered_bits_of_some_types(spark: SparkSession, expression: str, expected: str) -> None:
    assert value_of(spark, F.hex(F.ordered_bits(F.expr(expression)))) == expected


def test_ordered_bits_takes_a_number_of_bytes(spark: SparkSession) -> None:
    assert value_of(spark, F.ordered_bits(F.lit("abc"), bytes=2)) == b"ab"
    assert value_of(spark, F.ordered_bits(F.lit("abc"), 64)) == b"abc" + bytes(61)


def test_range_partition_id_deals_to_equal_ranges(spark: SparkSession) -> None:
    df = spark.range(1000).select(F.range_partition_id("id", 10).alias("r"))
    assert {row.r: row["count"] for row in df.groupBy("r").count().collect()} == dict.fromkeys(
        range(10), 100
    )


def test_range_partition_id_has_1024_ranges_unless_told(spark: SparkSession) -> None:
    df = spark.range(2048).select(F.range_partition_id("id").alias("r"))
    assert df.agg(F.min("r"), F.max("r"), F.countDistinct("r")).first() == (0, 1023, 1024)


@pytest.mark.parametrize(
    ("values", "bounds", "expected"),
    [
        ("1, 10, 11, 20, 21, NULL", [10, 20], [0, 0, 1, 1, 2, 0]),
        ("1, 10, 11", (10,), [0, 0, 1]),
        ("'a', 'b', 'bb', 'z'", ["b", "y"], [0, 0, 1, 2]),
        ("0.5D, 1.5D, double('NaN')", [0.5, 1.0], [0, 2, 2]),
    ],
)
def test_range_partition_id_counts_the_bounds_below(
    spark: SparkSession, values: str, bounds: Any, expected: list[int]
) -> None:
    df = spark.sql(f"SELECT posexplode(array({values})) AS (i, v)")
    rows = df.select("i", F.range_partition_id("v", bounds).alias("r")).collect()
    assert [row.r for row in sorted(rows)] == expected


def test_range_partition_id_takes_bounds_as_a_column(spark: SparkSession) -> None:
    bounds = F.array(F.lit(10), F.lit(20))
    assert value_of(spark, F.range_partition_id(F.lit(15), bounds)) == 1


def test_zorder_walks_the_grid_along_the_curve(points: DataFrame) -> None:
    walked = [(row.grid_x, row.grid_y) for row in points.sort(F.zorder("x", F.col("y"))).collect()]

    def z_value(cell: tuple[int, int]) -> int:
        x, y = cell
        return int.from_bytes(interleaved([bytes([x]), bytes([y])]), "big")

    assert walked == sorted(walked, key=z_value)
    assert len(set(walked)) == 64


def test_zorder_of_one_column_is_its_order(points: DataFrame) -> None:
    dates = [row.y for row in points.sort(F.zorder("y")).collect()]
    assert dates == sorted(dates)


def test_zorder_takes_63_columns(spark: SparkSession) -> None:
    df = spark.range(16).select(F.zorder(*["id"] * 63).alias("z"))
    least, most = df.agg(F.min("z"), F.max("z")).collect()[0]
    assert least == 0
    assert most == 2**63 - 1


def test_hilbert_walks_the_grid_by_single_steps(points: DataFrame) -> None:
    walked = [(row.grid_x, row.grid_y) for row in points.sort(F.hilbert("x", F.col("y"))).collect()]
    assert len(set(walked)) == 64
    steps = [abs(x2 - x1) + abs(y2 - y1) for (x1, y1), (x2, y2) in pairwise(walked)]
    assert set(steps) == {1}


def test_hilbert_of_one_column_is_zorder(points: DataFrame) -> None:
    compared = points.select((F.hilbert("y") == F.zorder("y")).alias("same"))
    assert {row.same for row in compared.collect()} == {True}


def test_hilbert_takes_9_columns(spark: SparkSession) -> None:
    df = spark.range(16).select(F.hilbert(*["id"] * 9).alias("h"))
    least, most = df.agg(F.min("h"), F.max("h")).collect()[0]
    assert 0 <= least < most < 2**63


def test_zorder_by_value_is_interleaved_ordered_bits(points: DataFrame) -> None:
    by_hand = F.interleave_bits(F.ordered_bits("x"), F.ordered_bits("y"))
    compared = points.select((F.zorder_by_value("x", "y") == by_hand).alias("same"))
    assert {row.same for row in compared.collect()} == {True}


def test_names_may_be_nested_fields(spark: SparkSession) -> None:
    df = spark.sql("SELECT named_struct('b', 7) AS a")
    assert df.select(F.hex(F.interleave_bits("a.b"))).first() == ("00000007",)


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        (lambda: F.interleave_bits(F.lit("text")), "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        (lambda: F.ordered_bits(F.expr("map(1, 2)")), "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"),
        (lambda: F.zorder(F.expr("map(1, 2)")), "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"),
        (lambda: F.zorder(*["id"] * 64), "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        (lambda: F.hilbert(F.expr("map(1, 2)")), "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"),
        (lambda: F.hilbert(*["id"] * 10), "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        (lambda: F.zorder_by_value(F.expr("map(1, 2)")), "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"),
        (lambda: F.range_partition_id("id", [20, 10]), "ZORDER_BOUNDS_INVALID"),
        (lambda: F.range_partition_id("id", F.array("id")), "ZORDER_BOUNDS_INVALID"),
        (lambda: F.zorder("nope"), "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ],
)
def test_what_spark_refuses_has_its_condition(
    spark: SparkSession, column: Callable[[], Column], condition: str
) -> None:
    with pytest.raises(AnalysisException) as refusal:
        spark.range(1).select(column()).collect()
    assert condition_of(refusal.value) == condition


@pytest.mark.parametrize("function", ["interleave_bits", "zorder", "hilbert", "zorder_by_value"])
def test_no_columns_are_refused_in_sql_and_in_python(spark: SparkSession, function: str) -> None:
    with pytest.raises(AnalysisException) as refusal:
        spark.sql(f"SELECT {function}()").collect()
    assert condition_of(refusal.value) == "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
    with pytest.raises(ValueError, match=f"{function} requires > 0 parameters"):
        getattr(F, function)()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.interleave_bits("a", cast(Any, 7)), "argument 2 of interleave_bits .* is int"),
        (lambda: F.zorder(cast(Any, ["a", "b"])), "argument 1 of zorder .* is list"),
        (lambda: F.zorder_by_value(cast(Any, None)), "argument 1 of zorder_by_value .* NoneType"),
        (lambda: F.ordered_bits(cast(Any, 7)), "argument 1 of ordered_bits .* is int"),
        (lambda: F.ordered_bits("a", cast(Any, "8")), "bytes must be an int, but is str"),
        (lambda: F.ordered_bits("a", cast(Any, True)), "bytes must be an int, but is bool"),
        (lambda: F.range_partition_id("a", cast(Any, "b")), "n_or_bounds must be .* is str"),
        (lambda: F.range_partition_id("a", cast(Any, 1.5)), "n_or_bounds must be .* is float"),
        (lambda: F.range_partition_id("a", cast(Any, True)), "n_or_bounds must be .* is bool"),
    ],
)
def test_a_wrong_type_names_the_argument_and_its_type(
    call: Callable[[], Column], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.ordered_bits("a", 0), "bytes must be in 1 to 64, but is 0"),
        (lambda: F.ordered_bits("a", 65), "bytes must be in 1 to 64, but is 65"),
        (lambda: F.range_partition_id("a", 0), "n_or_bounds must be at least 1, but is 0"),
        (lambda: F.range_partition_id("a", []), "n_or_bounds is an empty sequence"),
        (lambda: F.range_partition_id("a", [1, None]), "n_or_bounds holds None"),
    ],
)
def test_a_wrong_value_names_it(call: Callable[[], Column], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_one_f_has_the_functions_of_pyspark_too() -> None:
    assert F.col is pyspark.sql.functions.col
    assert set(dir(pyspark.sql.functions)) <= set(dir(F))
    assert set(F.__all__) <= set(dir(F))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_function"):
        F.no_such_function  # noqa: B018 (looking it up is the test)

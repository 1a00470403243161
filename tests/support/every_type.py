# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Columns of every type that pyarrow writes and Spark reads, with some nulls."""

import datetime as dt
from decimal import Decimal
from typing import Any

from tests.support.optimizing import (
    pa,
)

ROWS = 90
DAY = dt.date(2024, 1, 1)
MOMENT = dt.datetime(2024, 1, 1, 12, 30, 15, 123000)


def some(values: list[Any]) -> list[Any]:
    """Replace some values by null."""
    return [None if i % 11 == 5 else v for i, v in enumerate(values)]


def column(kind: Any, make: Any) -> Any:
    return pa.array(some([make(i * 37 % ROWS) for i in range(ROWS)]), kind)


ATOMS: dict[str, Any] = {
    "bool": column(pa.bool_(), lambda i: i % 2 == 0),
    "int8": column(pa.int8(), lambda i: i - 45),
    "int16": column(pa.int16(), lambda i: i * 300 - 9000),
    "int32": column(pa.int32(), lambda i: i * 10**7 - 5 * 10**8),
    "int64": column(pa.int64(), lambda i: i * 10**16 - 5 * 10**17),
    "float": column(pa.float32(), lambda i: float("nan") if i == 7 else i / 4 - 3),
    "double": column(pa.float64(), lambda i: -0.0 if i == 12 else i / 3 - 4),
    "decimal_9_2": column(pa.decimal128(9, 2), lambda i: Decimal(i * 12345 - 500000).scaleb(-2)),
    "decimal_18_6": column(pa.decimal128(18, 6), lambda i: Decimal(i * 10**14 - 10**15).scaleb(-6)),
    "decimal_38_18": column(
        pa.decimal128(38, 18), lambda i: Decimal((i - 40) * 10**30 + i).scaleb(-18)
    ),
    "date": column(pa.date32(), lambda i: DAY - dt.timedelta(days=i * 5000)),
    "timestamp_ms": column(pa.timestamp("ms"), lambda i: MOMENT - dt.timedelta(days=700 * i)),
    "timestamp_us": column(pa.timestamp("us"), lambda i: MOMENT + dt.timedelta(microseconds=i)),
    "timestamp_ms_utc": column(
        pa.timestamp("ms", "UTC"), lambda i: MOMENT - dt.timedelta(days=700 * i)
    ),
    "timestamp_us_zone": column(
        pa.timestamp("us", "Europe/Berlin"), lambda i: MOMENT + dt.timedelta(hours=i)
    ),
    "string": column(pa.string(), lambda i: f"Größe {i} 🎈" if i % 9 else ""),
    "binary": column(pa.binary(), lambda i: bytes([255 - i, i, 0])),
    "large_string": column(pa.large_string(), lambda i: "x" * (i % 7)),
    "dictionary": column(pa.string(), lambda i: f"colour {i % 4}").dictionary_encode(),
}

NESTED: dict[str, Any] = {
    "id": pa.array(range(ROWS), pa.int32()),
    "list": column(pa.list_(pa.int32()), lambda i: [i, None, 3][: i % 4]),
    "struct": column(
        pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.decimal128(9, 2))]))]),
        lambda i: {"a": i, "b": None if i % 3 == 0 else {"c": Decimal(i).scaleb(-2)}},
    ),
    "map": column(pa.map_(pa.string(), pa.float64()), lambda i: [("k", i / 2), ("n", None)]),
    "lists": column(pa.list_(pa.list_(pa.string())), lambda i: [["a"], None, [], [None]][: i % 5]),
    "map_of_lists": column(
        pa.map_(pa.int32(), pa.list_(pa.struct([("x", pa.timestamp("ms"))]))),
        lambda i: [(i, [{"x": MOMENT}, {"x": None}, None])],
    ),
    "structs": column(
        pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.decimal128(18, 6)))])),
        lambda i: [{"m": [("d", Decimal(i).scaleb(-6))]}, {"m": None}],
    ),
}

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of readers that some tables need, and files that only one of the readers reads."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT
from tests.support.optimizing import (
    arrow_rows,
    footers,
    optimize,
    pa,
    pq,
    refusal,
    settings,
    statement,
)

orc: Any = pytest.importorskip("pyarrow.orc")

pytestmark = pytest.mark.classic_only

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
NANOS = "spark.sql.legacy.parquet.nanosAsLong"
N = 400

COLUMNS = {
    "id": pa.array(range(N)),
    "small": pa.array([i % 97 for i in range(N)], pa.int32()),
    "f": pa.array([i / 7 for i in range(N)], pa.float32()),
    "d": pa.array([-i / 3 for i in range(N)], pa.float64()),
    "price": pa.array([Decimal(i) / 100 for i in range(N)], pa.decimal128(20, 2)),
    "text": pa.array([f"a common prefix {i % 50}" for i in range(N)]),
    "yes": pa.array([i % 3 == 0 for i in range(N)]),
    "tags": pa.array([[i / 2, None][: i % 3] for i in range(N)], pa.list_(pa.float64())),
}
ENCODINGS = {
    "BYTE_STREAM_SPLIT": ["id", "small", "f", "d"],
    "BYTE_STREAM_SPLIT in lists": ["tags.list.element"],
    "BYTE_STREAM_SPLIT of one column": ["d"],
    "DELTA_BINARY_PACKED": ["id", "small"],
    "DELTA_BYTE_ARRAY": ["text", "price"],
    "DELTA_LENGTH_BYTE_ARRAY": ["text"],
    "RLE": ["yes"],
}
QUICK = {"BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"}


def encoded(folder: Path, name: str) -> Path:
    """Write a table of four files, three of them with columns in an encoding."""
    folder.mkdir()
    for i in range(4):
        part = pa.table(COLUMNS).slice(i * N // 4, N // 4)
        encoding = {column: name.split(maxsplit=1)[0] for column in ENCODINGS[name]} if i else None
        pq.write_table(
            part, folder / f"{i}.parquet", use_dictionary=False, column_encoding=encoding
        )
    return folder


@pytest.mark.parametrize(
    ("name", "vectorized"),
    [
        # with the vectorized reader, each change tries one encoding of numbers and one of texts
        pytest.param(name, way, marks=() if way == "false" or name in QUICK else pytest.mark.slow)
        for name in ENCODINGS
        for way in ("true", "false")
    ],
)
def test_encodings(spark: SparkSession, tmp_path: Path, name: str, vectorized: str) -> None:
    table = encoded(tmp_path / "t", name)
    before = arrow_rows(table)
    with settings(spark, {VECTORIZED: vectorized}):
        if vectorized == "false":
            assert spark.read.parquet(str(table)).count() == N
        result = optimize(spark, table, ["small", "d"], targetFileSize="8k", verify="full")
        assert spark.conf.get(VECTORIZED) == vectorized
    assert result.metrics.numFilesRemoved == 4
    assert arrow_rows(table) == before


def test_into_and_a_second_run_read_such_files(spark: SparkSession, tmp_path: Path) -> None:
    table = encoded(tmp_path / "t", "BYTE_STREAM_SPLIT of one column")
    before = arrow_rows(table)
    copy = tmp_path / "copy"
    spark.sql(f"OPTIMIZE TABLE parquet.`{table}` ZORDER BY (d) INTO '{copy}'").collect()
    assert arrow_rows(copy) == before
    optimize(spark, table, ["d", "id"])
    extra = pa.table(COLUMNS).slice(0, 50)
    pq.write_table(
        extra, table / "x.parquet", use_dictionary=False, column_encoding={"d": "BYTE_STREAM_SPLIT"}
    )
    before = arrow_rows(table)
    optimize(spark, table, full=True)
    assert arrow_rows(table) == before


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_widened_types_by_both_readers(
    spark: SparkSession, tmp_path: Path, vectorized: str
) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark 3.5 reads no widened types")
    table = tmp_path / "t"
    table.mkdir()
    for i, (whole, real, price) in enumerate(
        [
            (pa.int32(), pa.float32(), pa.decimal128(7, 2)),
            (pa.int64(), pa.float64(), pa.decimal128(16, 2)),
        ]
    ):
        rows = range(100 * i, 100 * i + 100)
        part = pa.table(
            {
                "w": pa.array(rows, whole),
                "r": pa.array([n / 4 for n in rows], real),
                "p": pa.array([Decimal(n) / 100 for n in rows], price),
            }
        )
        pq.write_table(part, table / f"{i}.parquet")
    with settings(spark, {VECTORIZED: vectorized}):
        optimize(spark, table, ["w", "p"], targetFileSize="2k", verify="full")
        seen = sorted(tuple(r) for r in spark.read.parquet(str(table)).collect())
    assert seen == [(n, n / 4, Decimal(n) / 100) for n in range(200)]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_nanoseconds_as_numbers(spark: SparkSession, tmp_path: Path, vectorized: str) -> None:
    table = tmp_path / "t"
    table.mkdir()
    moments = [10**18 + 123456789 * i for i in range(N)]
    for i in range(4):
        part = {
            "id": pa.array(range(N)).slice(i * N // 4, N // 4),
            "at": pa.array(moments, pa.timestamp("ns")).slice(i * N // 4, N // 4),
            "s": pa.array(
                [{"at": m} for m in moments], pa.struct([("at", pa.timestamp("ns", "UTC"))])
            ).slice(i * N // 4, N // 4),
        }
        pq.write_table(pa.table(part), table / f"{i}.parquet")
    refusal(spark, statement(table, ["id"]), table, "ZORDER_TYPE_NOT_READABLE", "at", "NANOS")
    before = arrow_rows(table)
    kinds = {str(f.schema.to_arrow_schema()) for f in footers(table)}
    with settings(spark, {NANOS: "true", VECTORIZED: vectorized}):
        optimize(spark, table, ["at", "id"], targetFileSize="4k", verify="full")
        assert arrow_rows(table) == before
        frame = spark.read.parquet(str(table))
        assert sorted(r.at for r in frame.collect()) == moments
        spark.sql(f"REFRESH ZORDER INDEX ON '{table}'").collect()
        assert frame.where(f"at = {moments[7]}").count() == 1
        assert frame.where(f"at > {moments[N - 3]} AND s.at IS NOT NULL").count() == 2
        (shown, *_) = spark.sql(f"SHOW LAYOUT '{table}' FOR (at)").collect()
        assert shown.filesPerPointQuery < shown.files
    assert {str(f.schema.to_arrow_schema()) for f in footers(table)} == kinds


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_orc_by_both_readers(spark: SparkSession, tmp_path: Path, vectorized: str) -> None:
    table = tmp_path / "t"
    table.mkdir()
    for i in range(4):
        orc.write_table(pa.table(COLUMNS).slice(i * N // 4, N // 4), table / f"{i}.orc")
    with settings(spark, {"spark.sql.orc.enableVectorizedReader": vectorized}):
        spark.sql(
            f"OPTIMIZE orc.`{table}` ZORDER BY (small, d) OPTIONS ('verify' 'full')"
        ).collect()
    after = pa.concat_tables(orc.read_table(file) for file in table.glob("*.orc"))
    assert after.sort_by("id").to_pylist() == pa.table(COLUMNS).to_pylist()


def test_what_a_table_may_need_is_not_pinned() -> None:
    sources = ROOT / "jvm/src/main/scala/io/sparkzorder/conf"
    pins = (sources / "PinnedSession.scala").read_text().split("val pinsOfFormats")[0]
    # some tables can be read with one value only, and no value of a row depends on them
    for key in (VECTORIZED, NANOS, "spark.sql.orc.enableVectorizedReader"):
        assert f'"{key}"' not in pins

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Other engines read the same rows after OPTIMIZE, and DuckDB reads fewer row groups."""

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from spark_zorder import functions as F
from tests.support import data_files
from tests.support.optimizing import optimize, settings

duckdb: Any = pytest.importorskip("duckdb")
dataset: Any = pytest.importorskip("pyarrow.dataset")
pandas: Any = pytest.importorskip("pandas")
polars: Any = pytest.importorskip("polars")

pytestmark = pytest.mark.classic_only

ROWS, FILES = 4_000, 16
COLUMNS = ["x", "y", "name", "price", "region"]
Rows = Counter[tuple[Any, ...]]


def in_order(records: Iterable[dict[str, Any]]) -> Rows:
    """Return the rows as a multiset; each has its values in the order of COLUMNS."""
    return Counter(tuple(_value(record[c]) for c in COLUMNS if c in record) for record in records)


def _value(value: Any) -> Any:
    # pandas returns NaN for NULL
    return None if isinstance(value, float) and math.isnan(value) else value


def by_duckdb(table: Path, partitioned: bool) -> Rows:
    pattern = "**/*.parquet" if partitioned else "*.parquet"
    with duckdb.connect() as db:
        found = db.execute(
            f"SELECT * FROM read_parquet('{table}/{pattern}', hive_partitioning = {partitioned})"
        )
        return in_order(found.to_arrow_table().to_pylist())


def by_pyarrow(table: Path, partitioned: bool) -> Rows:
    read = dataset.dataset(table, format="parquet", partitioning="hive" if partitioned else None)
    return in_order(read.to_table().to_pylist())


def by_pandas(table: Path, partitioned: bool) -> Rows:
    return in_order(pandas.read_parquet(table).to_dict("records"))


def by_polars(table: Path, partitioned: bool) -> Rows:
    pattern = "**/*.parquet" if partitioned else "*.parquet"
    frame = polars.scan_parquet(f"{table}/{pattern}", hive_partitioning=partitioned)
    return in_order(frame.collect().to_dicts())


READERS = [by_duckdb, by_pyarrow, by_pandas, by_polars]


@dataclass(frozen=True)
class Tables:
    """One table at four moments, each in a folder of its own."""

    partitioned: bool
    rows: Rows
    before: Path
    shadowed: Path
    laid_out: Path
    result: Row
    with_leftovers: Path


@pytest.fixture(scope="module", params=[False, True], ids=["flat", "partitioned"])
def tables(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Tables:
    folder = tmp_path_factory.mktemp("tables")
    table, partitioned = folder / "t", bool(request.param)
    write_table(spark, table, partitioned)
    before = copy(table, folder / "before")
    # as Spark reads the table before OPTIMIZE has written anything
    rows = in_order(row.asDict() for row in spark.read.parquet(str(table)).collect())
    size = sum(file.stat().st_size for file in data_files(table))
    result = optimize(spark, table, ["x", "y"], targetFileSize=str(size // FILES))
    laid_out = copy(table, folder / "laid-out")
    leave_everything(spark, table)
    shadowed = copy(before, folder / "shadowed")
    optimize(spark, shadowed, ["x", "y"], targetFileSize=str(size // FILES), publish="shadow")
    assert list(shadowed.rglob("_zorder_*/_new_*"))
    return Tables(partitioned, rows, before, shadowed, laid_out, result, table)


def copy(table: Path, to: Path) -> Path:
    return Path(shutil.copytree(table, to))


def write_table(spark: SparkSession, path: Path, partitioned: bool) -> None:
    rows = spark.range(0, ROWS, 1, 4).select(
        F.expr("id * 7919 % 1009 AS x"),
        F.expr("id * 104729 % 997 AS y"),
        F.expr("IF(id % 11 = 0, NULL, concat('n', id % 100)) AS name"),
        F.expr("id / 4.0D AS price"),
        *([F.expr("IF(id % 3 = 0, 'north', 'south west') AS region")] if partitioned else []),
    )
    writer = rows.repartition(FILES).write
    (writer.partitionBy("region") if partitioned else writer).parquet(str(path))


def leave_everything(spark: SparkSession, table: Path) -> None:
    """Add all that a table's folder can hold beside the data after a first OPTIMIZE.

    These are the retained files of two runs, an index, hidden files of a dead run, and the empty
    file that lies beside the data while a run is published.
    """
    optimize(spark, table, ["y", "x"], full=True)
    retained = sorted(table.rglob("_zorder_*/_old_*"))
    run = "00000000-0000-4000-8000-000000000000"
    folder = data_files(table)[0].parent
    hidden = folder / f"_zorder_{run}"
    hidden.mkdir()
    for i, file in enumerate(retained[:3]):
        shutil.copy(file, hidden / f"_new_{i}_0")
    # a publisher that is killed leaves its token
    token = next(table.rglob("_zorder_*/_finished"))
    shutil.copy(token, folder / f"part-zorder-{run}.parquet")
    assert list((table / "_zorder/_index").iterdir())
    assert len({file.parent.name for file in retained}) == 2


@pytest.mark.parametrize("read", READERS)
def test_the_same_rows(tables: Tables, read: Callable[[Path, bool], Rows]) -> None:
    assert tables.rows.total() == ROWS
    for table in (tables.before, tables.shadowed, tables.laid_out, tables.with_leftovers):
        assert read(table, tables.partitioned) == tables.rows


def test_the_directory_form_of_polars(tables: Tables, tmp_path: Path) -> None:
    """Polars takes every file below the directory for Parquet, so it fails; see docs/readers.md."""
    table = copy(tables.with_leftovers, tmp_path / "t")
    for marker in table.rglob("_SUCCESS"):
        marker.unlink()
    with pytest.raises(polars.exceptions.PolarsError):
        polars.read_parquet(table)


def read_by_duckdb(table: Path, column: str, unit: str) -> tuple[float, int]:
    """Return how many units DuckDB must read for `column = value`, and how many units there are.

    A unit is a row group, or a file with all its row groups. The first number is the mean over the
    values of all rows.
    """
    with duckdb.connect() as db:
        found = db.execute(
            f"""
            WITH units AS (
                SELECT min(stats_min_value::BIGINT) AS low, max(stats_max_value::BIGINT) AS high
                FROM parquet_metadata('{table}/**/*.parquet')
                WHERE path_in_schema = '{column}' GROUP BY {unit}
            ), asked AS (SELECT {column} AS v FROM read_parquet('{table}/**/*.parquet'))
            SELECT count(*) / (SELECT count(*) FROM asked), (SELECT count(*) FROM units)
            FROM asked JOIN units ON v BETWEEN low AND high
            """
        ).fetchone()
        return float(found[0]), int(found[1])


def test_duckdb_reads_fewer_row_groups_as_the_result_row_says(tables: Tables) -> None:
    units = {"files": "file_name", "row groups": "file_name, row_group_id"}
    for column in tables.result.columns:
        old, new = (
            {unit: read_by_duckdb(table, column.name, by) for unit, by in units.items()}
            for table in (tables.before, tables.laid_out)
        )
        assert new["files"][1] == tables.result.metrics.numFilesAdded
        assert old["files"][0] == pytest.approx(column.filesPerPointQueryBefore, rel=0.02)
        assert new["files"][0] == pytest.approx(column.filesPerPointQueryAfter, rel=0.02)
        # a query also skips row groups within the files that it reads
        share = {unit: read / total for unit, (read, total) in new.items()}
        assert share["row groups"] <= share["files"] + 0.01
        assert share["row groups"] < 0.5 * old["row groups"][0] / old["row groups"][1]


@pytest.mark.parametrize("kept", [False, True])
def test_int96_timestamps_become_instants_unless_they_are_kept(
    spark: SparkSession, tmp_path: Path, kept: bool
) -> None:
    """Spark sees the same timestamps, and the reason says that others see another type."""
    table = tmp_path / "t"
    with settings(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        at = F.expr("timestamp_seconds(1704074400 + id) AS ts")
        spark.range(0, 40, 1, 2).select("id", at).write.parquet(str(table))
    before = Counter(spark.read.parquet(str(table)).collect())
    reason = optimize(spark, table, ["id"], timestampType="preserve" if kept else "micros").reason
    assert Counter(spark.read.parquet(str(table)).collect()) == before
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'America/New_York'")
        kind = f"SELECT DISTINCT typeof(ts) FROM read_parquet('{table}/*.parquet')"
        assert db.execute(kind).fetchall() == [
            ("TIMESTAMP" if kept else "TIMESTAMP WITH TIME ZONE",)
        ]
    zone = pandas.read_parquet(table)["ts"].dt.tz
    assert (zone is None) == kept
    assert (reason is None) if kept else ("`ts`" in reason and "preserve" in reason)

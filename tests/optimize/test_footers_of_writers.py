# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Files of other writers mean the same to these after OPTIMIZE: types, index and rows."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.support import data_files
from tests.support.optimizing import optimize, pa, pq, refusal, statement, write

duckdb: Any = pytest.importorskip("duckdb")
fastparquet: Any = pytest.importorskip("fastparquet")
geopandas: Any = pytest.importorskip("geopandas")
pandas: Any = pytest.importorskip("pandas")
polars: Any = pytest.importorskip("polars")
testing: Any = pytest.importorskip("pandas.testing")

pytestmark = pytest.mark.classic_only

Frame = Any


def frame(first: int, rows: int) -> Frame:
    """Return rows whose types only the footer of a file tells in full."""
    ids = range(first, first + rows)
    at = pandas.to_datetime([1_750_000_000 + 3600 * i for i in ids], unit="s", utc=True)
    return pandas.DataFrame(
        {
            "id": [(i * 37) % 10_007 for i in ids],
            "kind": pandas.Categorical([f"k{i % 5 + first}" for i in ids]),
            "at": at.tz_convert("Europe/Berlin").as_unit("us"),
            "took": pandas.to_timedelta([i * 1_000_001 for i in ids], unit="us"),
            "small": pandas.array([i % 100 for i in ids], "Int8"),
        }
    )


def write_frames(directory: Path, *frames: Frame, **options: Any) -> Path:
    directory.mkdir(parents=True)
    for i, each in enumerate(frames):
        each.to_parquet(directory / f"part-{i}.parquet", **options)
    return directory


def by_id(read: Frame) -> Frame:
    """Return the rows in the order of `id`; categories have no order of their own."""
    read = read.sort_values("id", ignore_index=True)
    for name in read.columns:
        if read[name].dtype == "category":
            values = sorted(read[name].cat.categories)
            read[name] = read[name].cat.set_categories(values).cat.remove_unused_categories()
    return read


def keys_of(directory: Path) -> list[dict[str, str]]:
    """Return the footer keys of each file, without Spark's."""
    return [
        {
            key.decode(): value.decode()
            for key, value in (pq.ParquetFile(file).metadata.metadata or {}).items()
            if not key.startswith(b"org.apache.spark.")
        }
        for file in data_files(directory)
    ]


def arrow_schema(keys: dict[str, str]) -> Any:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(keys["ARROW:schema"])))


def check_unchanged(spark: SparkSession, table: Path, read: Callable[[Path], Frame]) -> Row:
    """Run OPTIMIZE, and check that a reader gets the same types and rows as before."""
    before = by_id(read(table))
    result = optimize(spark, table, ["id"])
    assert result.metrics.numFilesRemoved > 0
    testing.assert_frame_equal(by_id(read(table)), before)
    return result


@pytest.mark.parametrize("lengths", [(100, 60), (100,)], ids=["files", "file"])
def test_pandas_reads_the_same_types(
    spark: SparkSession, tmp_path: Path, lengths: tuple[int, ...]
) -> None:
    frames = [frame(1000 * i, n) for i, n in enumerate(lengths)]
    table = write_frames(tmp_path / "t", *frames)
    result = check_unchanged(spark, table, pandas.read_parquet)
    types = pandas.read_parquet(table).dtypes.astype(str).to_dict()
    assert types == {
        "id": "int64",
        "kind": "category",
        "at": "datetime64[us, Europe/Berlin]",
        "took": "timedelta64[ns]",
        "small": "Int8",
    }
    # rows have no numbers any more
    for keys in keys_of(table):
        noted = json.loads(keys["pandas"])
        assert noted["index_columns"] == []
        (kind,) = (c for c in noted["columns"] if c["name"] == "kind")
        assert kind["metadata"] == {"num_categories": 5 * len(lengths), "ordered": False}
        assert arrow_schema(keys).metadata == {b"pandas": keys["pandas"].encode()}
    assert "`pandas`" in result.reason
    assert "RangeIndex" in result.reason


def test_the_index_of_pandas_stays_when_it_is_a_column(spark: SparkSession, tmp_path: Path) -> None:
    frames = [frame(1000 * i, n).set_index(["id", "kind"]) for i, n in enumerate([100, 60])]
    table = write_frames(tmp_path / "t", *frames)
    unnamed = write_frames(tmp_path / "u", frame(0, 50).assign(x=1).set_index("id"))
    for path, names in ((table, ["id", "kind"]), (unnamed, ["id"])):
        before = pandas.read_parquet(path).sort_index()
        assert list(before.index.names) == names
        result = optimize(spark, path, ["at"])
        assert result.metrics.numFilesAdded == 1
        assert result.reason is None
        after = pandas.read_parquet(path)
        assert list(after.index.names) == names
        testing.assert_frame_equal(by_id(after.reset_index()), by_id(before.reset_index()))


@pytest.mark.parametrize(
    "index",
    [
        pandas.RangeIndex(0, 100, name="key"),
        pandas.RangeIndex(100, 200),
        pandas.RangeIndex(0, 200, 2),
    ],
    ids=["name", "start", "step"],
)
def test_an_index_of_pandas_that_only_the_footer_has_is_not_lost(
    spark: SparkSession, tmp_path: Path, index: Any
) -> None:
    table = write_frames(tmp_path / "t", frame(0, 100).set_index(index))
    says = ["part-0.parquet", "RangeIndex", "allowTypeChange"]
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_FOOTER_HOLDS_DATA", *says)
    result = optimize(spark, table, ["id"], allowTypeChange="true")
    assert "RangeIndex" in result.reason
    after = pandas.read_parquet(table)
    assert after.index.equals(pandas.RangeIndex(100))
    assert after.index.name is None


def test_the_order_of_categories_is_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    """The order is that of the dictionary of a file, which rewritten files do not have."""
    sizes = pandas.CategoricalDtype(["low", "mid", "high"], ordered=True)
    rows = pandas.DataFrame({"id": range(60), "size": ["high", "low", "mid"] * 20})
    rows["size"] = rows["size"].astype(sizes)
    assert rows["size"].max() == "high"
    table = write_frames(tmp_path / "t", rows)
    arrow = write(tmp_path / "a/0.parquet", pa.table(rows).replace_schema_metadata(None)).parent
    for path in (table, arrow):
        text = statement(path, ["id"])
        refusal(spark, text, path, "ZORDER_FOOTER_HOLDS_DATA", "`size`", "allowTypeChange")
        result = optimize(spark, path, ["id"], allowTypeChange="true")
        assert "`size`" in result.reason
        after = pandas.read_parquet(path)
        assert after["size"].dtype == "category"
        assert not after["size"].cat.ordered


def test_files_of_fastparquet(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir()
    for i, n in enumerate([100, 60]):
        each = frame(1000 * i, n).assign(text=lambda f: "t" + f["id"].astype(str))
        columns = ["id", "kind", "at", "text"]
        fastparquet.write(str(table / f"part-{i}.parquet"), each[columns], times="int64")

    def read(path: Path) -> Frame:
        files = [fastparquet.ParquetFile(str(file)).to_pandas() for file in data_files(path)]
        return pandas.concat(files, ignore_index=True).astype({"kind": object})

    result = check_unchanged(spark, table, read)
    assert "RangeIndex" in result.reason
    assert "`kind`" in result.reason
    # pandas reads it by another library
    assert pandas.read_parquet(table, engine="pyarrow")["text"].str.startswith("t").all()


def test_fastparquet_mixes_no_categories_up(spark: SparkSession, tmp_path: Path) -> None:
    """It takes the dictionary of one row group for that of all."""
    rows = pandas.DataFrame(
        {
            "id": range(400_000),
            "kind": pandas.Categorical([f"k{i // 50_000}" for i in range(400_000)]),
        }
    )
    (tmp_path / "t").mkdir()
    fastparquet.write(str(tmp_path / "t/0.parquet"), rows)
    optimize(spark, tmp_path / "t", ["id"])
    (file,) = data_files(tmp_path / "t")
    read = fastparquet.ParquetFile(str(file))
    assert len(read.row_groups) > 1
    after = read.to_pandas().sort_values("id", ignore_index=True)
    assert (after["kind"] == rows["kind"].astype(object)).all()


def test_files_of_polars(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir()
    for i, n in enumerate([100, 60]):
        ids = range(1000 * i, 1000 * i + n)
        polars.DataFrame(
            {
                "id": ids,
                "kind": polars.Series([f"k{j % 5}" for j in ids], dtype=polars.Categorical),
                "size": polars.Series(
                    [["low", "high"][j % 2] for j in ids], dtype=polars.Enum(["low", "high"])
                ),
                "took": polars.Series(list(ids), dtype=polars.Duration("us")),
                "at": polars.Series(list(ids), dtype=polars.Datetime("us", "Europe/Berlin")),
            }
        ).write_parquet(table / f"{i}.parquet")

    def read() -> Any:
        return polars.read_parquet(f"{table}/*.parquet").sort("id")

    before = read()
    result = optimize(spark, table, ["kind", "id"])
    assert result.reason is None
    after = read()
    assert after.schema == before.schema
    assert after.equals(before)
    assert after["size"].max() == "high"


def test_dictionaries_of_several_files_fit_the_keys_of_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Three files of 100 categories each have keys of a byte; their 300 categories do not fit."""
    frames = []
    for i in range(3):
        kinds = pandas.Categorical([f"k{i * 100 + j % 100}" for j in range(200)])
        frames.append(pandas.DataFrame({"id": range(i * 200, i * 200 + 200), "kind": kinds}))
    frames[0]["kind"] = frames[0]["kind"].cat.set_categories([f"k{j}" for j in range(300)])
    table = write_frames(tmp_path / "t", *frames)
    types = {str(arrow_schema(keys).field("kind").type.index_type) for keys in keys_of(table)}
    assert types == {"int8", "int16"}
    check_unchanged(spark, table, pandas.read_parquet)
    (keys,) = keys_of(table)
    assert str(arrow_schema(keys).field("kind").type.index_type) == "int32"
    assert polars.read_parquet(f"{table}/*.parquet")["kind"].n_unique() == 300


def test_keys_that_files_disagree_on_are_named(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    for i in range(2):
        rows = pa.table({"id": pa.array(range(50))})
        metadata = {"owner": "payroll", "run": str(i), **({"only": "here"} if i else {})}
        write(table / f"{i}.parquet", rows.replace_schema_metadata(metadata))
    result = optimize(spark, table, ["id"])
    assert "`run`" in result.reason
    assert "`only`" in result.reason
    assert "owner" not in result.reason
    (keys,) = keys_of(table)
    assert set(keys) == {"ARROW:schema", "owner"}
    assert arrow_schema(keys).metadata == {b"owner": b"payroll"}
    # what a dry run and a copy say
    again = write_frames(tmp_path / "u", frame(0, 20), frame(0, 30))
    dry = spark.sql(statement(again, ["id"]) + " DRY RUN").collect()[0].reason
    assert "RangeIndex" in dry
    copy = f"OPTIMIZE parquet.`{again}` ZORDER BY (id) INTO '{tmp_path}/copy'"
    assert "RangeIndex" in spark.sql(copy).collect()[0].reason
    assert "pandas" in keys_of(tmp_path / "copy")[0]


def points(first: int, rows: int, shift: float = 0) -> Any:
    texts = [f"POINT ({i + shift} {-i})" for i in range(rows - 1)] + ["LINESTRING (0 0, 1 1)"]
    shapes = geopandas.GeoSeries.from_wkt(texts)
    return geopandas.GeoDataFrame(
        {"id": range(first, first + rows)}, geometry=shapes, crs="EPSG:4326"
    )


def geo_of(table: Path) -> Any:
    (keys,) = keys_of(table)
    return json.loads(keys["geo"])["columns"]["geometry"]


def test_geoparquet_stays_geoparquet(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir()
    for i in range(3):
        points(100 * i, 20 + i, shift=100.0 * i).to_parquet(table / f"{i}.parquet")

    def read() -> Any:
        files = [geopandas.read_parquet(file) for file in data_files(table)]
        return pandas.concat(files).sort_values("id", ignore_index=True)

    before = read()
    result = optimize(spark, table, ["id"])
    assert "geo" not in result.reason
    (file,) = data_files(table)
    after = geopandas.read_parquet(file).sort_values("id", ignore_index=True)
    assert after.crs == before.crs == "EPSG:4326"
    assert after.geom_equals(before).all()
    assert after["id"].equals(before["id"])
    column = geo_of(table)
    assert column["bbox"] == [0.0, -20.0, 220.0, 1.0]
    assert sorted(column["geometry_types"]) == ["LineString", "Point"]


@pytest.mark.parametrize(
    ("changes", "expected", "said"),
    [
        ({"bbox": None}, {"geometry_types": ["Point"]}, "bbox"),
        ({"bbox": [170.0, 0.0, -170.0, 1.0]}, {"geometry_types": ["Point"]}, "bbox"),
        ({"bbox": [0.0, 0.0, 0.0, 9.0, 9.0, 9.0]}, {"geometry_types": ["Point"]}, "bbox"),
        ({"geometry_types": []}, {"geometry_types": [], "bbox": [0.0, 0.0, 1.0, 1.0]}, None),
        (
            {"bbox": [-5, 0.5, 0.5, 2]},
            {"geometry_types": ["Point"], "bbox": [-5, 0.0, 1.0, 2]},
            None,
        ),
        ({"edges": "spherical"}, None, "`geo`"),
    ],
)
def test_what_files_say_of_geometries_is_joined(
    spark: SparkSession, tmp_path: Path, changes: Any, expected: Any, said: str | None
) -> None:
    own = {"encoding": "WKB", "geometry_types": ["Point"], "bbox": [0.0, 0.0, 1.0, 1.0]}
    for i, members in enumerate((own, {**own, **changes})):
        column = {k: v for k, v in members.items() if v is not None}
        geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
        rows = pa.table({"id": pa.array(range(9)), "geometry": pa.array([b"x"] * 9)})
        write(
            tmp_path / f"t/{i}.parquet",
            rows.replace_schema_metadata({"geo": json.dumps(geo)}),
        )
    # a file without rows says nothing about them
    write(tmp_path / "t/empty.parquet", rows.slice(0, 0).replace_schema_metadata(None))
    result = optimize(spark, tmp_path / "t", ["id"])
    if expected is None:
        assert "geo" not in keys_of(tmp_path / "t")[0]
    else:
        assert geo_of(tmp_path / "t") == {"encoding": "WKB", **expected}
    assert (said in result.reason) if said else result.reason is None


def test_bloom_filters_of_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir()
    for i in range(2):
        # DuckDB writes filters for columns with dictionaries
        duckdb.sql(
            f"COPY (SELECT i AS id, 'user-' || (i * 7919 % 100003) AS name"
            f" FROM (SELECT DISTINCT x % 40000 + {i} * 40000 AS i FROM range(60000) r(x)))"
            f" TO '{table}/{i}.parquet' (DICTIONARY_SIZE_LIMIT 100000)"
        )
    before = filters(table)
    assert before == {"id", "name"}
    optimize(spark, table, ["id"])
    assert filters(table) == before
    (file,) = data_files(table)
    probe = f"SELECT any_value(bloom_filter_excludes) FROM parquet_bloom_probe('{file}', 'name', "
    assert duckdb.sql(probe + "'user-7919')").fetchone() == (False,)
    absent = [duckdb.sql(probe + f"'nobody-{i}')").fetchone()[0] for i in range(50)]
    assert sum(absent) >= 45
    found = duckdb.sql(f"SELECT count(*) FROM '{file}' WHERE name = 'user-7919'").fetchone()
    assert found == (1,)


def filters(table: Path) -> set[str]:
    """Return the columns that have a Bloom filter in some file."""
    rows = duckdb.sql(
        f"SELECT DISTINCT path_in_schema FROM parquet_metadata('{table}/*.parquet')"
        " WHERE bloom_filter_offset IS NOT NULL"
    ).fetchall()
    return {name for (name,) in rows}

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Helpers of the tests of OPTIMIZE: run the statement, and compare files with pyarrow."""

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.support import condition_of, data_files, snapshot

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def statement(
    target: Path | str,
    columns: Sequence[str] = (),
    where: str = "",
    *,
    full: bool = False,
    **options: str,
) -> str:
    """Return the text of an OPTIMIZE; each column is the name of a top-level column."""
    name = f"parquet.{quoted(str(target))}" if isinstance(target, Path) else target
    parts = [f"OPTIMIZE TABLE {name}"]
    if full:
        parts.append("FULL")
    if where:
        parts.append(f"WHERE {where}")
    if columns:
        parts.append(f"ZORDER BY ({', '.join(quoted(c) for c in columns)})")
    if options:
        parts.append(f"OPTIONS ({', '.join(f'{k!r} {v!r}' for k, v in options.items())})")
    return " ".join(parts)


def optimize(
    spark: SparkSession,
    target: Path | str,
    columns: Sequence[str] = (),
    where: str = "",
    *,
    full: bool = False,
    **options: str,
) -> Row:
    return run(spark, statement(target, columns, where, full=full, **options))


def run(spark: SparkSession, text: str) -> Row:
    """Run a statement that returns one row."""
    (result,) = spark.sql(text).collect()
    return result


@contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Change settings of the session while a block runs."""
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in values}
    try:
        for key, value in values.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def refusal(
    spark: SparkSession, text: str, directory: Path, condition: str, *says: str
) -> PySparkException:
    """Run a statement that fails; check its condition, its message, and that no file changed."""
    before = snapshot(directory)
    with pytest.raises(PySparkException) as error:
        spark.sql(text).collect()
    assert condition_of(error.value) == condition, str(error.value)
    for word in says:
        assert word in str(error.value)
    assert snapshot(directory) == before
    return error.value


def write(path: Path, table: Any, **options: Any) -> Path:
    """Write a pyarrow table, or a dict of columns, to one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = table if isinstance(table, pa.Table) else pa.table(table)
    pq.write_table(data, path, **options)
    return path


def write_each(directory: Path, *tables: Any) -> Path:
    """Write each pyarrow table, or dict of columns, to its own file."""
    for i, table in enumerate(tables):
        write(directory / f"part-{i}.parquet", table)
    return directory


def numbers(kind: Any = None, n: int = 30, start: int = 0) -> Any:
    """Return a column of consecutive integers."""
    return pa.array(range(start, start + n), kind)


def points() -> Any:
    """Return a small table of two columns."""
    return pa.table({"id": numbers(n=60), "x": pa.array([i % 7 for i in range(60)])})


def write_parts(directory: Path, table: Any, parts: int = 3, **options: Any) -> Path:
    """Write a pyarrow table to several files; row i goes to file i modulo their number."""
    for i in range(parts):
        rows = list(range(i, table.num_rows, parts))
        write(directory / f"part-{i}.parquet", table.take(rows), **options)
    return directory


def arrow_rows(
    directory: Path, opened: Callable[[Path], Any] = pq.ParquetFile, names: str = "*.parquet"
) -> Counter[str]:
    """Read the rows of the live files with pyarrow, together with their partition folders."""
    found: Counter[str] = Counter()
    for file in data_files(directory, names):
        folder = str(file.parent.relative_to(directory))
        rows = opened(file).read().to_pylist()
        found.update(folder + repr(sorted(row.items())) for row in rows)
    return found


def footers(directory: Path) -> list[Any]:
    return [pq.ParquetFile(file) for file in data_files(directory)]


def shape(file: Any) -> dict[str, Any]:
    """Return the properties that a rewritten file must share with its inputs."""
    keys = without_sparks(file.metadata.metadata)
    if b"ARROW:schema" in keys:
        # Arrow copies all other keys into its schema
        arrow = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(keys[b"ARROW:schema"])))
        keys[b"ARROW:schema"] = str(arrow.remove_metadata()), without_sparks(arrow.metadata)
    return {
        "parquet": str(file.schema).split("\n", 1)[1],
        "arrow": str(file.schema_arrow.remove_metadata()),
        "codecs": {chunk.compression for chunk in chunks(file)},
        "keys": keys,
    }


def without_sparks(metadata: dict[bytes, bytes] | None) -> dict[bytes, Any]:
    """Return the keys of other writers."""
    kept = (metadata or {}).items()
    return {key: value for key, value in kept if not key.startswith(b"org.apache.spark.")}


def chunks(file: Any) -> Iterator[Any]:
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    return (group.column(i) for group in groups for i in range(group.num_columns))


def without_bounds(directory: Path, columns: Sequence[str]) -> list[str]:
    """The column chunks, of the ordering columns, that say neither min and max nor "all null"."""
    return [
        f"{chunk.path_in_schema}: {chunk.statistics}"
        for file in footers(directory)
        for chunk in chunks(file)
        if chunk.path_in_schema in columns and not has_bounds(chunk)
    ]


def has_bounds(chunk: Any) -> bool:
    known = chunk.statistics
    if known is None:
        return False
    return bool(known.has_min_max or known.null_count == chunk.num_values)


def check_same_table(
    spark: SparkSession, directory: Path, columns: Sequence[str], **options: str
) -> Row:
    """Run OPTIMIZE; check rows and schema, that all files are new, and that they have min/max."""
    rows, files = arrow_rows(directory), data_files(directory)
    shapes = [shape(file) for file in footers(directory)]
    result = optimize(spark, directory, columns, **{"verify": "full", **options})  # type: ignore[arg-type]
    assert not set(files) & set(data_files(directory))
    assert arrow_rows(directory) == rows
    for file in footers(directory):
        assert shape(file) == shapes[0]
    assert without_bounds(directory, columns) == []
    assert result.metrics.numRows == sum(rows.values())
    return result

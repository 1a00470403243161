# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Columns, predicates and settings that OPTIMIZE refuses: named in the error, nothing changed."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.optimizing import pa, points, refusal, settings, statement, write, write_parts


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "points", points())


@pytest.fixture
def partitioned(tmp_path: Path) -> Path:
    for p in (1, 2):
        write(tmp_path / f"parts/p={p}/a.parquet", points())
    return tmp_path / "parts"


def test_ordering_columns(spark: SparkSession, tmp_path: Path) -> None:
    data = {
        "id": pa.array(range(4)),
        "s": pa.array([{"x": 1, "l": [1]}] * 4),
        "m": pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int32())),
    }
    for p in (1, 2):
        write(tmp_path / f"t/p={p}/a.parquet", data)
    cases = {
        "nope": ("NOT_FOUND", ["`nope`", "`id`"]),
        "s.nope": ("NOT_FOUND", ["s.nope"]),
        "id.x": ("NOT_FOUND", ["id.x"]),
        "id, ID": ("DUPLICATED", ["`id`"]),
        "s.x, s.X": ("DUPLICATED", ["s.x"]),
        "id, p": ("IS_PARTITION_COLUMN", ["`p`"]),
        "P": ("IS_PARTITION_COLUMN", ["`P`"]),
        "s": ("NOT_ORDERABLE", ["`s`", "STRUCT", "fields"]),
        "s.l": ("NOT_ORDERABLE", ["s.l", "ARRAY"]),
        "m": ("NOT_ORDERABLE", ["`m`", "MAP"]),
    }
    for columns, (condition, says) in cases.items():
        text = f"{statement(tmp_path / 't')} ZORDER BY ({columns})"
        refusal(spark, text, tmp_path, f"ZORDER_COLUMN_{condition}", *says)


def test_sixty_four_columns_are_one_too_many(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(64)]
    table = write_parts(tmp_path / "t", pa.table({n: pa.array(range(4)) for n in names}), 2)
    text = statement(table, names)
    refusal(spark, text, table, "ZORDER_TOO_MANY_COLUMNS", "64", "63", str(table))
    spark.sql(statement(table, names[:63])).collect()


@pytest.mark.parametrize("where", ["id = 1", "p = 1 AND x > 2", "1 = 1 OR id IS NULL"])
def test_a_copy_is_chosen_by_partition_columns(
    spark: SparkSession, partitioned: Path, where: str
) -> None:
    copy = partitioned.parent / "copy"
    text = statement(partitioned, ["id"], where=where) + f" INTO '{copy}'"
    condition = "ZORDER_PREDICATE_NOT_ON_PARTITIONS"
    refusal(spark, text, partitioned, condition, "`p`", where.rsplit(maxsplit=1)[-1])
    assert not copy.exists()


def test_a_predicate_on_a_column_that_is_not_there(spark: SparkSession, partitioned: Path) -> None:
    text = statement(partitioned, ["id"], where="p = 1 AND nope = 3")
    refusal(spark, text, partitioned, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nope")


WRONG = {
    "targetFileSize": ["0", "-1", "big", ""],
    "sampleRows": ["0", "1.5", "many"],
    "batchSize": ["0"],
    "retention": ["-1h", "soon"],
    "verify": ["none", ""],
    "timestampType": ["int96"],
    "allowTypeChange": ["yes", ""],
}


@pytest.mark.parametrize("key", list(WRONG))
def test_a_wrong_value_wherever_it_is_set(
    spark: SparkSession, database: str, table: Path, key: str
) -> None:
    for value in WRONG[key]:
        text = statement(table, ["id"], **{key: value})  # type: ignore[arg-type]
        refusal(spark, text, table, "ZORDER_INVALID_SETTING", key, f"'{value}'")
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{table}'")
    wrong = WRONG[key][0]
    spark.sql(f"ALTER TABLE t SET TBLPROPERTIES ('zorder.{key}' = '{wrong}')")
    for text in (statement("t", ["id"]), statement("t", ["id"]) + " DRY RUN"):
        refusal(spark, text, table, "ZORDER_INVALID_SETTING", f"zorder.{key}", wrong)
    with pytest.raises(PySparkException, match=f"spark.zorder.{key}"):
        spark.conf.set(f"spark.zorder.{key}", wrong)


def test_unknown_settings_wherever_they_are_set(
    spark: SparkSession, database: str, table: Path
) -> None:
    for key in ("targetSize", "zorder.verify", "columns", "skipping.enabled"):
        text = f"{statement(table, ['id'])} OPTIONS ('{key}' '1')"
        refusal(spark, text, table, "ZORDER_UNKNOWN_SETTING", key, "targetFileSize")
    with settings(spark, {"spark.zorder.targetSize": "1m"}):
        text = statement(table, ["id"])
        refusal(spark, text, table, "ZORDER_UNKNOWN_SETTING", "spark.zorder.targetSize")
    spark.sql(f"CREATE TABLE t USING parquet LOCATION '{table}'")
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.colums' = 'id')")
    refusal(spark, statement("t"), table, "ZORDER_UNKNOWN_SETTING", "zorder.colums")

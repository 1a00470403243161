# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Tables and files that OPTIMIZE refuses: the message names them, the directory stays as it was."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support import condition_of, snapshot
from tests.support.optimizing import (
    points,
    quoted,
    refusal,
    settings,
    statement,
    write,
    write_parts,
)

pytestmark = pytest.mark.not_connect


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "points", points())


@pytest.fixture
def partitioned(tmp_path: Path) -> Path:
    for p in (1, 2):
        write(tmp_path / f"parts/p={p}/a.parquet", points())
    return tmp_path / "parts"


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("_delta_log/00000000000000000000.json", "Delta"),
        ("metadata/v1.metadata.json", "Iceberg"),
        ("metadata/version-hint.text", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("_spark_metadata/0", "_spark_metadata"),
        ("_symlink_format_manifest/manifest", "_symlink_format_manifest"),
    ],
)
def test_a_directory_of_another_kind(
    spark: SparkSession, table: Path, marker: str, says: str
) -> None:
    (table / marker).parent.mkdir()
    (table / marker).write_text("{}")
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_UNSUPPORTED_TABLE", says, str(table))
    write_parts(table / "inner", points())
    inner = statement(table / "inner", ["id"])
    said = [str(table / "inner"), marker.split("/", maxsplit=1)[0]]
    if not marker.startswith("_symlink"):
        refusal(spark, inner, table, "ZORDER_PATH_IN_TABLE", *said)


def test_tables_of_the_catalog_that_are_not_ours(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    rows = spark.range(20)
    rows.write.bucketBy(2, "id").option("path", str(tmp_path / "b")).saveAsTable("bucketed")
    rows.write.format("json").option("path", str(tmp_path / "j")).saveAsTable("texts")
    rows.write.option("path", str(tmp_path / "t")).saveAsTable("plain")
    spark.sql("CREATE VIEW seen AS SELECT * FROM plain")
    expected = {"bucketed": "buckets", "texts": "json"}
    for name, says in expected.items():
        refusal(spark, statement(name, ["id"]), tmp_path, "ZORDER_UNSUPPORTED_TABLE", name, says)
    rows.createOrReplaceTempView("for_now")
    for name in ("seen", "for_now"):
        before = snapshot(tmp_path)
        with pytest.raises(PySparkException, match=name):
            spark.sql(statement(name, ["id"]))
        assert snapshot(tmp_path) == before
    with pytest.raises(PySparkException, match="no_such"):
        spark.sql(statement("no_such", ["id"]))


def test_paths_that_are_no_table(spark: SparkSession, table: Path, partitioned: Path) -> None:
    root = table.parent
    cases = [
        (f"{table.parent}/poi*", "glob"),
        (str(table / "part-0.parquet"), "is a file"),
        ("/", "root"),
        (str(partitioned / "p=1"), "WHERE"),
        (str(root / "nowhere"), "not exist"),
    ]
    for path, says in cases:
        for target in (f"parquet.{quoted(path)}", f"'{path}'"):
            text = f"OPTIMIZE {target} ZORDER BY (id)"
            refusal(spark, text, root, "ZORDER_PATH_NOT_A_TABLE", path, says)


def test_below_a_table_that_was_optimized(spark: SparkSession, table: Path) -> None:
    spark.sql(statement(table, ["id"])).collect()
    write_parts(table / "deeper/inside", points())
    refusal(
        spark,
        statement(table / "deeper/inside", ["id"]),
        table,
        "ZORDER_PATH_IN_TABLE",
        str(table),
        "_zorder",
    )
    refusal(
        spark, statement(table, ["id"]), table, "ZORDER_FILES_OUTSIDE_PARTITIONS", "deeper/inside"
    )


@pytest.mark.parametrize("where", ["extra", "p=1/extra", "q=1", "p=3/q=4"])
def test_data_below_directories_that_are_no_partitions(
    spark: SparkSession, partitioned: Path, where: str
) -> None:
    write(partitioned / where / "a.parquet", points())
    before = snapshot(partitioned)
    # Spark 3.5 itself refuses different partition columns by an assertion of Java's
    with pytest.raises(Exception, match=r"ZORDER_FILES_OUTSIDE_PARTITIONS|onflict") as error:
        spark.sql(statement(partitioned, ["id"])).collect()
    if "=" not in where or "extra" in where:
        assert isinstance(error.value, PySparkException)
        assert condition_of(error.value) == "ZORDER_FILES_OUTSIDE_PARTITIONS"
        assert where in str(error.value)
    assert snapshot(partitioned) == before


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1garbagegarbagePAR1", b"hello, world"])
def test_a_corrupt_file_is_named(spark: SparkSession, table: Path, content: bytes) -> None:
    (table / "broken.parquet").write_bytes(content)
    with settings(spark, {"spark.sql.files.ignoreCorruptFiles": "true"}):
        refusal(spark, statement(table, ["id"]), table, "ZORDER_FILE_UNREADABLE", "broken.parquet")


def test_a_foreign_file_is_named(spark: SparkSession, table: Path) -> None:
    (table / "notes.txt").write_text("remember the milk")
    refusal(spark, statement(table, ["id"]), table, "ZORDER_FILE_UNREADABLE", "notes.txt")


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_files(spark: SparkSession, table: Path, plaintext_footer: bool) -> None:
    encryption: Any = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc]
        def __init__(self, config: Any) -> None:
            encryption.KmsClient.__init__(self)

        def wrap_key(self, key: bytes, master: str) -> bytes:
            return key

        def unwrap_key(self, key: bytes, master: str) -> bytes:
            return key

    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(
        encryption.KmsConnectionConfig(),
        encryption.EncryptionConfiguration(
            footer_key="f", column_keys={"c": ["x"]}, plaintext_footer=plaintext_footer
        ),
    )
    write(table / "secret.parquet", points(), encryption_properties=properties)
    refusal(spark, statement(table, ["id"]), table, "ZORDER_FILE_ENCRYPTED", "secret.parquet")


def test_a_file_system_that_cannot_replace_files(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    text = statement(table, ["id"])
    with settings(spark, {"spark.zorder.inPlaceSchemes": "hdfs", "spark.zorder.publish": "rename"}):
        refusal(
            spark,
            text,
            tmp_path,
            "ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM",
            "'file'",
            "INTO",
            str(table),
        )
        before = snapshot(table)
        spark.sql(f"{text} INTO '{tmp_path}/elsewhere'").collect()
        assert snapshot(table) == before
    text = statement(table, ["id"], inPlaceSchemes="s3a, hdfs", publish="rename")
    refusal(spark, text, table, "ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM")


def test_into_a_directory_with_something_in_it(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    for name in ("full/x.txt", "hidden/_SUCCESS"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine")
        directory, entry = name.split("/")
        text = f"{statement(table, ['id'])} INTO '{tmp_path}/{directory}'"
        refusal(spark, text, tmp_path, "ZORDER_TARGET_NOT_EMPTY", directory, entry)
    (tmp_path / "a-file").write_text("mine")
    text = f"{statement(table, ['id'])} INTO '{tmp_path}/a-file'"
    refusal(spark, text, tmp_path, "ZORDER_TARGET_NOT_EMPTY", "a-file")
    for inside in (table, table / "new", table / "_zorder/new"):
        text = f"{statement(table, ['id'])} INTO '{inside}'"
        before = snapshot(tmp_path)
        with pytest.raises(PySparkException) as error:
            spark.sql(text).collect()
        assert condition_of(error.value) in ("ZORDER_PATH_IN_TABLE", "ZORDER_TARGET_NOT_EMPTY")
        assert snapshot(tmp_path) == before


def test_a_failed_write_leaves_everything(spark: SparkSession, tmp_path: Path) -> None:
    """A file whose footer is sound and whose pages are not: found only while rows are read."""
    table = write_parts(tmp_path / "t", points(), compression="none")
    victim = table / "part-1.parquet"
    content = bytearray(victim.read_bytes())
    content[4:200] = b"\xff" * 196
    victim.write_bytes(bytes(content))
    before = snapshot(table)
    with (
        settings(spark, {"spark.sql.files.ignoreCorruptFiles": "true"}),
        pytest.raises(Exception, match=r"part-1\.parquet"),
    ):
        spark.sql(statement(table, ["id"])).collect()
    live = {name: digest for name, digest in snapshot(table).items() if not name.startswith("_")}
    assert live == before

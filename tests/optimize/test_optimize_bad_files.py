# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Corrupt, encrypted and foreign files: the error names them, and they stay unchanged."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import data_files, rows_of, snapshot
from tests.support.optimizing import optimize, pa, refusal, settings, statement, write, write_parts

pytestmark = pytest.mark.classic_only


def rows(n: int = 90) -> Any:
    return pa.table({"id": pa.array(range(n)), "x": pa.array([i % 7 for i in range(n)])})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "t", rows())


LENIENT = {
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
}


def refused(spark: SparkSession, table: Path, name: str) -> None:
    """Check all forms of the statement, in a session that ignores corrupt files."""
    text = statement(table, ["id"])
    forms = (text, text + " DRY RUN", text + f" INTO '{table.parent}/copy'", statement(table))
    for form in forms:
        with settings(spark, LENIENT):
            refusal(spark, form, table, "ZORDER_FILE_UNREADABLE", name)
    assert not (table.parent / "copy").exists()


@pytest.mark.parametrize("left", ["all but a byte", "all but the length", "half", "the magic"])
def test_a_file_that_is_cut_short(spark: SparkSession, table: Path, left: str) -> None:
    victim = data_files(table)[1]
    content = victim.read_bytes()
    length = {
        "all but a byte": len(content) - 1,
        "all but the length": len(content) - 8,
        "half": len(content) // 2,
        "the magic": 4,
    }[left]
    victim.write_bytes(content[:length])
    refused(spark, table, victim.name)


def test_a_file_without_a_byte(spark: SparkSession, table: Path) -> None:
    (table / "nothing.parquet").touch()
    refused(spark, table, "nothing.parquet")


@pytest.mark.parametrize("kind", ["csv", "json", "arrow", "orc", "text"])
def test_a_file_of_another_format(spark: SparkSession, table: Path, kind: str) -> None:
    """The content of a file decides, not its name."""
    path = table / ("notes.txt" if kind == "text" else "really.parquet")
    if kind == "csv":
        path.write_text("id,x\n1,2\n")
    elif kind == "json":
        path.write_text('{"id": 1, "x": 2}\n')
    elif kind == "text":
        path.write_text("PAR1 and other words, and at the end PAR1")
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows().schema) as file:
            file.write_table(rows())
    else:
        pytest.importorskip("pyarrow.orc").write_table(rows(), path)
    refused(spark, table, path.name)


def test_a_footer_that_lies_about_its_length(spark: SparkSession, table: Path) -> None:
    victim = data_files(table)[0]
    content = bytearray(victim.read_bytes())
    content[-8:-4] = (2**31 - 1).to_bytes(4, "little")
    victim.write_bytes(bytes(content))
    refused(spark, table, victim.name)


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
    write(table / "secret.parquet", rows(), encryption_properties=properties)
    refusal(spark, statement(table, ["id"]), table, "ZORDER_FILE_ENCRYPTED", "secret.parquet")


def test_a_directory_that_is_called_like_a_file(spark: SparkSession, table: Path) -> None:
    (table / "folder.parquet").mkdir()
    before = rows_of(spark.read.parquet(str(table)))
    optimize(spark, table, ["id"])
    assert rows_of(spark.read.parquet(str(table))) == before
    (table / "folder.parquet" / "inside.parquet").write_bytes(data_files(table)[0].read_bytes())
    text = statement(table, ["id"])
    refusal(spark, text, table, "ZORDER_FILES_OUTSIDE_PARTITIONS", "folder.parquet")


def test_files_that_spark_does_not_read(spark: SparkSession, table: Path) -> None:
    """Hidden files are no data, whatever they contain; their bytes do not change."""
    for name in ("_SUCCESS", ".part-0.parquet.swp", ".hidden.parquet", "_x.parquet"):
        (table / name).write_bytes(b"no Parquet")
    others = {k: v for k, v in snapshot(table).items() if k.startswith(("_", "."))}
    before = rows_of(spark.read.parquet(str(table)))
    optimize(spark, table, ["id", "x"], verify="full")
    assert rows_of(spark.read.parquet(str(table))) == before
    after = snapshot(table)
    assert {name: after[name] for name in others} == others

# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the user's session have no effect on OPTIMIZE, and keep their values."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT
from tests.support.optimizing import check_same_table, pa, settings, write_parts

orc: Any = pytest.importorskip("pyarrow.orc")

pytestmark = pytest.mark.classic_only

# each of these would change or drop data, or remove min/max, if it had an effect on the rewrite
BAD = {
    "files": {
        "spark.sql.files.ignoreCorruptFiles": "true",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.sql.files.maxRecordsPerFile": "3",
        "spark.sql.files.maxPartitionBytes": "1000",
        "spark.sql.files.openCostInBytes": "1",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "0",
        "spark.sql.parquet.mergeSchema": "true",
        "spark.sql.sources.useV1SourceList": "",
    },
    "values": {
        "spark.sql.parquet.binaryAsString": "true",
        "spark.sql.parquet.int96AsTimestamp": "false",
        "spark.sql.parquet.int96TimestampConversion": "true",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.legacy.parquet.nanosAsLong": "true",
        "spark.sql.readSideCharPadding": "true",
        "spark.sql.legacy.charVarcharAsString": "true",
        "spark.sql.parquet.fieldId.read.enabled": "true",
        "spark.sql.parquet.ignoreVariantAnnotation": "true",
        "spark.sql.session.timeZone": "Pacific/Apia",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
    },
    "rebase": {
        # the modes for reading have an effect, see test_optimize_old_dates
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    },
    "writer": {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.fieldId.write.enabled": "false",
        "spark.sql.parquet.compression.codec": "gzip",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.sources.commitProtocolClass": (
            "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"
        ),
        "spark.sql.parquet.output.committer.class": (
            "org.apache.parquet.hadoop.ParquetOutputCommitter"
        ),
        "parquet.summary.metadata.level": "ALL",
        "parquet.compression": "GZIP",
        "parquet.enable.dictionary": "false",
        "parquet.page.size": "64",
    },
    "bounds": {
        "parquet.column.statistics.enabled": "false",
        "parquet.statistics.truncate.length": "1",
        "parquet.columnindex.truncate.length": "1",
    },
    "plan": {
        "spark.zorder.workload.enabled": "true",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.forceApply": "true",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "true",
        "spark.sql.parquet.enableVectorizedReader": "false",
        # an accelerator may read values otherwise than Spark
        "spark.comet.enabled": "true",
        "spark.gluten.enabled": "true",
        "spark.rapids.sql.enabled": "true",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.optimizer.plannedWrite.enabled": "false",
        "spark.sql.optimizer.excludedRules": (
            "org.apache.spark.sql.catalyst.optimizer.ColumnPruning,"
            "org.apache.spark.sql.catalyst.optimizer.ConstantFolding,"
            "org.apache.spark.sql.catalyst.optimizer.CollapseProject"
        ),
        "spark.sql.maxMetadataStringLength": "5",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.parquet.recordLevelFilter.enabled": "true",
        "spark.sql.execution.sortBeforeRepartition": "true",
    },
}
BAD_FOR_ORC = {
    "orc.proleptic.gregorian": "true",
    "orc.skip.corrupt.data": "true",
    "spark.sql.orc.enableVectorizedReader": "false",
}
# OPTIMIZE refuses tables with this setting: OrcRefusalsSuite
REFUSED_FOR_ORC = {"orc.force.positional.evolution"}


@pytest.fixture(scope="module")
def data() -> object:
    """Rows in which the effect of each setting would be visible."""
    n = 200
    field_id = {"PARQUET:field_id": "17"}
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), metadata=field_id),
            pa.field("name", pa.string()),
            pa.field("raw", pa.binary()),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("local", pa.timestamp("ms")),
            pa.field("day", pa.date32()),
            pa.field("price", pa.decimal128(9, 2)),
            pa.field("tags", pa.list_(pa.struct([("k", pa.string())]))),
        ]
    )
    columns = [
        pa.array(range(n)),
        pa.array([f"{i % 13} and {i}" for i in range(n)]),
        pa.array([bytes([255, i]) for i in range(n)]),
        pa.array([-(10**16) * 6 + i for i in range(n)], pa.timestamp("us", "UTC")),
        pa.array([-(10**13) * 2 + i for i in range(n)], pa.timestamp("ms")),
        pa.array([-400000 + i for i in range(n)], pa.date32()),
        pa.array(range(n)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(9, 2), safe=False),
        pa.array([[{"k": "a"}, {"k": None}, None][: i % 4] for i in range(n)]),
    ]
    return pa.table(columns, schema=schema)


@pytest.mark.parametrize("group", list(BAD))
def test_bad_settings(spark: SparkSession, tmp_path: Path, data: object, group: str) -> None:
    table = write_parts(tmp_path / "t", data)
    with settings(spark, BAD[group]):
        result = check_same_table(
            spark, table, ["name", "at", "local", "raw", "day"], targetFileSize="8k"
        )
        for key, value in BAD[group].items():
            assert spark.conf.get(key) == value
    assert result.metrics.numFilesAdded == len(list(table.glob("*.parquet")))


def test_bad_settings_for_orc(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"id": range(200), "name": [f"{i % 13} and {i}" for i in range(200)]})
    table = tmp_path / "t"
    table.mkdir()
    for i in range(4):
        orc.write_table(rows.slice(50 * i, 50), table / f"{i}.orc")
    with settings(spark, BAD_FOR_ORC):
        spark.sql(f"OPTIMIZE orc.`{table}` ZORDER BY (id, name)").collect()
        for key, value in BAD_FOR_ORC.items():
            assert spark.conf.get(key) == value
    after = pa.concat_tables(orc.read_table(file) for file in table.glob("*.orc"))
    assert after.sort_by("id").to_pylist() == rows.to_pylist()


def test_every_pinned_setting_is_in_this_table() -> None:
    """A new pinned setting needs a bad value in this file."""
    sources = ROOT / "jvm/src/main/scala/io/sparkzorder/conf"
    # table formats have a list of their own, since they read and write the values themselves
    text = (sources / "PinnedSession.scala").read_text().split("val pinsOfFormats")[0]
    pinned = {line.split('"')[1] for line in text.splitlines() if '" -> "' in line}
    # Spark allows these two for VARIANT only, which pyarrow does not write
    known = {key for group in BAD.values() for key in group} | set(BAD_FOR_ORC) | REFUSED_FOR_ORC
    variant = {key for key in pinned if key.startswith("spark.sql.variant.")}
    assert pinned - known - variant <= {"spark.sql.legacy.allowHashOnMapType"}


def test_the_whole_configuration_is_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    table = write_parts(tmp_path / "t", pa.table({"id": pa.array(range(20))}))
    check_same_table(spark, table, ["id"])
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before

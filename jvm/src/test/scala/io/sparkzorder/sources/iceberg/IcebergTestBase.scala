// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.io.File
import java.nio.file.Files
import java.util.function.BiFunction

import scala.collection.JavaConverters._

import org.apache.iceberg.{BaseTable, DataFile, Schema, Snapshot}
import org.apache.iceberg.data.GenericRecord
import org.apache.iceberg.data.parquet.GenericParquetWriter
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.io.OutputFileFactory
import org.apache.iceberg.parquet.{Parquet, ParquetValueWriter}
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageType
import org.apache.iceberg.spark.{
  FileRewriteCoordinator,
  ScanTaskSetManager,
  SparkCatalog,
  SparkTableCache
}

import org.apache.spark.sql.DataFrame

import io.sparkzorder.rewrite.OptimizeResult
import io.sparkzorder.sources.{FormatTestBase, SnapshotFormat}

/** What the suites of Iceberg tables share: a catalog `ice` in a temporary directory. */
abstract class IcebergTestBase extends FormatTestBase {
  protected var warehouse: File = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    warehouse = Files.createTempDirectory("iceberg").toFile
    spark.conf.set("spark.sql.catalog.ice", classOf[SparkCatalog].getName)
    spark.conf.set("spark.sql.catalog.ice.type", "hadoop")
    spark.conf.set("spark.sql.catalog.ice.warehouse", warehouse.toString)
    // a table that another session of the test changes is seen at once
    spark.conf.set("spark.sql.catalog.ice.cache-enabled", "false")
  }

  override def afterAll(): Unit =
    try {
      org.apache.commons.io.FileUtils.deleteDirectory(warehouse)
    } finally super.afterAll()

  override protected def format: String = "iceberg"
  override protected def database: String = "ice.db"
  override protected def drop(name: String): Unit = {
    val _ = sql(s"DROP TABLE ice.db.`$name` PURGE")
  }

  protected def directory: File = new File(warehouse, "db/t")
  protected def commits: Int = snapshots("t").count(_.summary.containsKey("zorder-run"))
  protected def allCommits: Int = snapshots("t").size

  override protected def opened: SnapshotFormat =
    new IcebergFormat(table("t"), "ice.db.t", isNamed = true)

  override protected def interrupted(options: Map[String, String])(before: => Unit): Unit = {
    val _ = optimizeWith("t", table("t"), options)(before)
  }

  override protected def appended(rows: DataFrame): Unit = rows.writeTo("ice.db.t").append()

  protected def table(name: String): BaseTable =
    new HadoopTables(spark.sessionState.newHadoopConf()).load(s"$warehouse/db/$name") match {
      case t: BaseTable => t
    }

  protected def snapshots(name: String): Seq[Snapshot] =
    table(name).snapshots.asScala.toSeq

  protected def files(name: String): Seq[DataFile] = {
    val tasks = table(name).newScan().includeColumnStats().planFiles()
    try tasks.asScala.map(_.file).toList
    finally tasks.close()
  }

  /**
   * Appends the first file of the table a second time, as a sink does that repeats a commit. Puts both entries into one
   * manifest if told so.
   */
  protected def appendAgain(name: String, merge: Boolean = true): DataFile = {
    val file = files(name).minBy(_.location)
    table(name).newAppend().appendFile(file.copy()).commit()
    if (merge) sql(s"CALL ice.system.rewrite_manifests('db.$name')").collect()
    file
  }

  override protected def orphans(name: String): Set[String] = {
    val known = snapshots(name).flatMap { s =>
      val scan = table(name).newScan().useSnapshot(s.snapshotId).planFiles()
      try scan.asScala.flatMap(t => t.file.location +: t.deletes.asScala.map(_.location)).toList
      finally scan.close()
    }.map(p => new File(p.stripPrefix("file:")).getName).toSet
    filesBelow(new File(warehouse, s"db/$name/data"), "").diff(known)
  }

  /** Deletes the rows whose column has the value, by a file of equality deletes. */
  protected def deleteWhereEqual(name: String, column: String, value: Any): Unit = {
    val t = table(name)
    val schema = t.schema.select(column)
    val id = schema.findField(column).fieldId
    // the factories of such writers have other names in each version
    val writer = Parquet.writeDeletes(OutputFileFactory.builderFor(t, 0, 0).build().newOutputFile())
      .forTable(t).rowSchema(schema).withSpec(t.spec).equalityFieldIds(id)
      .createWriterFunc(new BiFunction[Schema, MessageType, ParquetValueWriter[_]] {
        override def apply(s: Schema, m: MessageType): ParquetValueWriter[_] =
          GenericParquetWriter.create(s, m)
      })
      .buildEqualityWriter[GenericRecord]()
    try {
      val row = GenericRecord.create(schema)
      row.setField(column, value)
      writer.write(row)
    } finally writer.close()
    t.newRowDelta().addDeletes(writer.toDeleteFile).commit()
  }

  /**
   * Runs OPTIMIZE of two columns, and `before` just before its commit.
   *
   * @param on the table, or one whose commits fail
   */
  protected def optimizeWith(name: String, on: BaseTable, options: Map[String, String] = Map.empty)(
      before: => Unit): OptimizeResult = {
    val inner = new IcebergFormat(on, s"ice.db.$name", isNamed = true)
    try optimizeWith(inner, options)(before)
    finally assertNothingStaged(on)
  }

  /** Iceberg's registries are empty: what is left there stays until the driver ends. */
  private def assertNothingStaged(on: BaseTable): Unit = {
    assert(SparkTableCache.get.size === 0)
    assert(ScanTaskSetManager.get.fetchSetIds(on).isEmpty)
    assert(FileRewriteCoordinator.get.fetchSetIds(on).isEmpty)
  }
}

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

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.rewrite.OptimizeResult
import io.sparkzorder.sources.{FormatTestBase, LatchedRun, OptimizeClauses}

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

  /** Runs `body` with an empty database `ice.db`. */
  protected def inDatabase(body: => Any): Unit =
    try { val _ = body }
    finally {
      sql("SHOW TABLES IN ice.db").collect().foreach { r =>
        sql(s"DROP TABLE ice.db.`${r.getAs[String]("tableName")}` PURGE")
      }
    }

  /** A table with `files` files of mixed rows. */
  protected def create(
      name: String,
      clauses: String = "",
      files: Int = 8,
      rows: Int = 8000): Unit = {
    numbers(0, rows, files).createOrReplaceTempView("numbers")
    sql(s"CREATE TABLE ice.db.$name USING iceberg $clauses AS SELECT * FROM numbers")
  }

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

  /** The files of the table's directory of data that no snapshot has. */
  protected def orphans(name: String): Set[String] = {
    val known = snapshots(name).flatMap { s =>
      val scan = table(name).newScan().useSnapshot(s.snapshotId).planFiles()
      try scan.asScala.flatMap(t => t.file.location +: t.deletes.asScala.map(_.location)).toList
      finally scan.close()
    }.map(p => new File(p.stripPrefix("file:")).getName).toSet
    val data = new File(warehouse, s"db/$name/data").toPath
    val stream = Files.walk(data)
    try stream.iterator.asScala.map(_.toFile).filter(f => f.isFile && !f.getName.startsWith("."))
        .map(_.getName).filterNot(known).toSet
    finally stream.close()
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
    val clauses = OptimizeClauses(
      full = true,
      columns = Seq(Seq("a"), Seq("b")),
      options = Map("targetFileSize" -> "4k") ++ options)
    try new LatchedRun(SparkLine.session(spark), inner, clauses, () => before).run()
    finally assertNothingStaged(on)
  }

  /** Iceberg's registries are empty: what is left there stays until the driver ends. */
  private def assertNothingStaged(on: BaseTable): Unit = {
    assert(SparkTableCache.get.size === 0)
    assert(ScanTaskSetManager.get.fetchSetIds(on).isEmpty)
    assert(FileRewriteCoordinator.get.fetchSetIds(on).isEmpty)
  }

  /** Runs OPTIMIZE and checks that the table has the same rows as before. */
  protected def optimized(name: String, clauses: String = "ZORDER BY (a, b)"): Row = {
    val before = bag(spark.table(s"ice.db.$name"))
    val row = sql(s"OPTIMIZE TABLE ice.db.$name $clauses").head()
    assert(bag(spark.table(s"ice.db.$name")) === before)
    row
  }

}

package io.sparkzorder.formats.iceberg

import java.io.File
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.iceberg.{BaseTable, DataFile, Snapshot}
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.spark.SparkCatalog

import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.commands.OptimizeTestBase

/** What the suites of Iceberg tables share: a catalog `ice` in a temporary directory. */
abstract class IcebergTestBase extends OptimizeTestBase {
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
  protected def withDatabase(body: => Unit): Unit =
    try body
    finally {
      sql("SHOW TABLES IN ice.db").collect().foreach { r =>
        sql(s"DROP TABLE ice.db.`${r.getAs[String]("tableName")}` PURGE")
      }
    }

  /** A table with `files` files of mixed rows. */
  protected def create(name: String, clauses: String = "", files: Int = 8, rows: Int = 8000): Unit = {
    numbers(0, rows, files).createOrReplaceTempView("numbers")
    sql(s"CREATE TABLE ice.db.$name USING iceberg $clauses AS SELECT * FROM numbers")
  }

  protected def numbers(from: Int, until: Int, files: Int): DataFrame =
    spark.range(from, until, 1, files).selectExpr(
      "id", "pmod(hash(id), 1000) a", "pmod(hash(id, 7), 1000) b", "id % 4 p",
      "concat('s', id % 13) s")

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

  /** Runs OPTIMIZE and checks that the table has the same rows as before. */
  protected def optimized(name: String, clauses: String = "ZORDER BY (a, b)"): Row = {
    val before = bag(spark.table(s"ice.db.$name"))
    val row = sql(s"OPTIMIZE TABLE ice.db.$name $clauses").head()
    assert(bag(spark.table(s"ice.db.$name")) === before)
    row
  }

}

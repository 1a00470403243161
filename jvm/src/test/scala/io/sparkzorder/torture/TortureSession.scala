// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File

import org.apache.spark.sql.SparkSession

import io.sparkzorder.{FaultyFileSystem, ZOrderExtensions}

/** A small session with the extension, whose files lie below `base` and go with it. */
private[torture] object TortureSession {

  /** @param hive with Hive's catalog, in `base` */
  def start(base: File, threads: Int = 2, hive: Boolean = false): SparkSession = {
    val builder = SparkSession.builder().master(s"local[$threads]").appName("torture")
      .config("spark.sql.extensions", classOf[ZOrderExtensions].getName)
      .config("spark.zorder.inPlaceSchemes", "file,faulty")
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
      .config("spark.sql.codegen.wholeStage", "false")
      .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
      .config("spark.sql.warehouse.dir", new File(base, "warehouse").getPath)
      .config("spark.local.dir", new File(base, "local").getPath)
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.ui.enabled", "false")
    if (hive) {
      val settings = Map(
        "spark.sql.catalogImplementation" -> "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL" -> s"jdbc:derby:$base/catalog;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll" -> "true",
        "spark.hadoop.hive.metastore.schema.verification" -> "false")
      settings.foreach { case (k, v) => builder.config(k, v) }
    }
    val session =
      FaultyFileSystem.settings.foldLeft(builder) { case (b, (k, v)) => b.config(k, v) }
        .getOrCreate()
    // readers meet files that are gone, and tasks of killed statements fail
    session.sparkContext.setLogLevel("OFF")
    session
  }

  def path(table: File): String = s"'faulty://${table.getAbsolutePath}'"

  /** @param table as SQL names it */
  def optimize(
      table: String,
      columns: String,
      targetBytes: Long,
      batchBytes: Long = 1L << 36): String =
    s"OPTIMIZE $table ZORDER BY ($columns) OPTIONS ('targetFileSize' '$targetBytes', " +
      s"'batchSize' '$batchBytes', 'retention' '1h')"

  def statement(table: File, columns: String, targetBytes: Long): String =
    optimize(path(table), columns, targetBytes)
}

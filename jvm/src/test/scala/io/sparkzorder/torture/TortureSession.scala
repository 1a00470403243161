package io.sparkzorder.torture

import java.io.File

import org.apache.spark.sql.SparkSession

import io.sparkzorder.{FaultyFileSystem, ZOrderExtensions}

/** A small session with the extension, whose files lie below `base` and go with it. */
private[torture] object TortureSession {
  def start(base: File): SparkSession = {
    val builder = SparkSession.builder().master("local[1]").appName("torture")
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
    val session =
      FaultyFileSystem.settings.foldLeft(builder) { case (b, (k, v)) => b.config(k, v) }
        .getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    session
  }

  def statement(table: File, columns: String, targetBytes: Long): String =
    s"OPTIMIZE 'faulty://${table.getAbsolutePath}' ZORDER BY ($columns) " +
      s"OPTIONS ('targetFileSize' '$targetBytes', 'retention' '1h')"
}

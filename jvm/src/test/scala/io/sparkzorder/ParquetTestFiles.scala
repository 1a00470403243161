// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser

import io.sparkzorder.table.DataFile

/** Parquet files without Spark. */
object ParquetTestFiles {

  /** A file with a column `s` of bytes, which has no annotation or that of a text, and its number `id`. */
  def ofBytes(path: Path, isText: Boolean, values: Seq[Array[Byte]]): Unit = {
    val annotation = if (isText) "(STRING)" else ""
    val schema = MessageTypeParser.parseMessageType(
      s"message m { required int64 id; optional binary s $annotation; }")
    val writer = ExampleParquetWriter.builder(path).withConf(new Configuration()).withType(schema)
      .withDictionaryEncoding(false).build()
    try values.zipWithIndex.foreach { case (value, i) =>
        val group = new SimpleGroupFactory(schema).newGroup().append("id", i.toLong)
        if (value != null) group.append("s", Binary.fromConstantByteArray(value))
        writer.write(group)
      }
    finally writer.close()
  }

  /** A file of two rows and so many columns of text, c0 and so on. */
  def withWideFile[T](columns: Int)(body: DataFile => T): T = {
    val dir = Files.createTempDirectory("zorder-wide")
    val path = new Path(dir.toUri.toString, "wide.parquet")
    val conf = new Configuration()
    val schema = MessageTypeParser.parseMessageType(
      (0 until columns).map(i => s"optional binary c$i (STRING);").mkString(
        "message m { ",
        " ",
        " }"))
    try {
      val writer = ExampleParquetWriter.builder(path).withConf(conf).withType(schema).build()
      try for (row <- Seq("a", "b")) {
          val group = new SimpleGroupFactory(schema).newGroup()
          for (i <- 0 until columns) group.append(s"c$i", s"$row value of column $i")
          writer.write(group)
        }
      finally writer.close()
      body(DataFile.alone(path.getFileSystem(conf).getFileStatus(path)))
    } finally {
      Option(dir.toFile.listFiles).toSeq.flatten.foreach(_.delete())
      val _ = dir.toFile.delete()
    }
  }
}

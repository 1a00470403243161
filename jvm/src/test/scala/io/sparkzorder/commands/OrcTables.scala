// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import java.io.File
import java.nio.ByteBuffer

import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.ql.exec.vector.{LongColumnVector, VectorizedRowBatch}
import org.apache.orc.{OrcFile, Reader, TypeDescription}

import org.apache.spark.sql.{DataFrame, Row}

/** Tables of ORC files for what tests share; files are looked at by ORC's own reader. */
trait OrcTables extends OptimizeTestBase {

  override def write(df: DataFrame, dir: File, partitions: String*): Unit =
    df.write.mode("append").partitionBy(partitions: _*).orc(dir.getAbsolutePath)

  override def read(dir: File): DataFrame = spark.read.orc(dir.getAbsolutePath)

  override protected def rowsIn(file: File): Long = withOrc(file)(_.getNumberOfRows)

  def withOrc[T](file: File)(body: Reader => T): T = {
    val path = new Path(null, null, file.getAbsolutePath)
    val reader =
      OrcFile.createReader(path, OrcFile.readerOptions(spark.sessionState.newHadoopConf()))
    try body(reader)
    finally reader.close()
  }

  /** A file that ORC's own writer makes, as another engine would. */
  protected def foreign(
      dir: File,
      name: String,
      schema: String,
      rows: Int = 3,
      metadata: Map[String, Array[Byte]] = Map.empty,
      change: TypeDescription => Unit = _ => ())(fill: VectorizedRowBatch => Unit): Unit = {
    val types = TypeDescription.fromString(schema)
    change(types)
    val options = OrcFile.writerOptions(spark.sessionState.newHadoopConf()).setSchema(types)
    val writer = OrcFile.createWriter(new Path(null, null, s"$dir/$name"), options)
    metadata.foreach { case (k, v) => writer.addUserMetadata(k, ByteBuffer.wrap(v)) }
    val batch = types.createRowBatch()
    batch.size = rows
    fill(batch)
    writer.addRowBatch(batch)
    writer.close()
  }

  protected def longs(batch: VectorizedRowBatch, c: Int): Unit =
    (0 until batch.size).foreach(batch.cols(c).asInstanceOf[LongColumnVector].vector(_) = 5L)

  /** Paths of the data files below a table's directory. */
  def orcFiles(dir: File): Seq[File] =
    dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name))

  /** OPTIMIZE of a directory, with all that must hold after it. */
  def optimizeOrc(dir: File, rest: String): Row =
    optimize(s"OPTIMIZE orc.`${dir.getAbsolutePath}` $rest", dir)(read(dir))
}

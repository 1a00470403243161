// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.io.File

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.quality.ideal.RankedColumn

/**
 * A table as Spark wrote it.
 *
 * @param bytes size of all its files
 */
final case class WrittenTable(data: QualityData, directory: File, bytes: Long)

/** Writes tables, runs the real OPTIMIZE on them, and measures the result. */
final class QualityLab(session: Session, base: File) {
  private var runs = 0

  def write(data: QualityData): WrittenTable = {
    val directory = next("source")
    val writer = data.frame(session).write
    data.folder.fold(writer)(_ => writer.partitionBy("p")).parquet(directory.getPath)
    WrittenTable(data, directory, LayoutQuality.dataFiles(directory).map(_.length).sum)
  }

  /** All values of the ordering columns below a directory. */
  def ranked(data: QualityData, directory: File): IndexedSeq[RankedColumn] =
    RankedColumn.of(session.read.parquet(directory.getPath), data.columnNames)

  /** Runs OPTIMIZE into a new directory, for about `files` files. */
  def optimize(table: WrittenTable, files: Int): File = {
    val out = next("out")
    val target = math.max(1L, table.bytes / files)
    session.sql(s"OPTIMIZE TABLE '${table.directory}' ZORDER BY " +
      s"(${table.data.columnNames.mkString(", ")}) INTO '$out' " +
      s"OPTIONS ('targetFileSize' '$target')").collect()
    out
  }

  /** Runs OPTIMIZE once for each wanted number of files. */
  def outcomes(data: QualityData, wanted: Seq[Int]): Seq[Outcome] = {
    val table = write(data)
    val values = ranked(data, table.directory)
    try wanted.map { n =>
        val out = optimize(table, n)
        try judge(data.name, n, out, values)
        finally delete(out)
      }
    finally delete(table.directory)
  }

  /** Measures the files in a directory; `values` are the values of exactly their rows. */
  def judge(name: String, wanted: Int, directory: File, values: IndexedSeq[RankedColumn])
      : Outcome = {
    val conf = session.sessionState.newHadoopConf()
    new Outcome(name, wanted, values, LayoutQuality.of(directory, values, conf))
  }

  def delete(directory: File): Unit = FileUtils.deleteDirectory(directory)

  private def next(name: String): File = {
    runs += 1
    new File(base, s"$name-$runs")
  }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.io.File
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}
import io.sparkzorder.table.{DataFile, OrderingColumn, ParquetFiles}
import io.sparkzorder.table.stats.{FileColumns, UnitStats}

/**
 * The ranges of the ordering columns, as ranks, for each file, row group and page.
 *
 * A unit without values has an empty range, because it still counts as a unit. A unit without min
 * and max has the range of all values, because every query reads it. A query that skips a file or a
 * row group skips the pages in it too.
 *
 * @param data all values of each ordering column, of the rows in these files
 */
final class LayoutQuality(data: IndexedSeq[RankedColumn], read: IndexedSeq[FileColumns]) {
  private val files = read.filter(_.rows > 0)

  val fileRows: IndexedSeq[Long] = files.map(_.rows)
  val fileBytes: IndexedSeq[Long] = files.map(_.file.length)

  /** For each column the range of each file. */
  val byFile: IndexedSeq[IndexedSeq[RankRange]] =
    data.indices.map(c => files.map(f => ranks(c, f.columns(c).whole)))

  /** For each column the range of each row group. */
  val byRowGroup: IndexedSeq[IndexedSeq[RankRange]] =
    data.indices.map(c => files.flatMap(f => inFile(c, f, f.columns(c).rowGroups)))

  /** For each column the range of each of its pages. */
  val byPage: IndexedSeq[IndexedSeq[RankRange]] =
    data.indices.map(c => files.flatMap(f => inFile(c, f, f.columns(c).pages.get)))

  private def inFile(c: Int, f: FileColumns, units: IndexedSeq[UnitStats]) =
    units.map(u => ranks(c, u).intersect(ranks(c, f.columns(c).whole)))

  private def ranks(c: Int, unit: UnitStats): RankRange =
    if (unit.stats.onlyNulls) RankRange.Empty
    else unit.stats.range.map(data(c).ranksIn).getOrElse(data(c).all)
}

object LayoutQuality {

  /** Reads footers and page indexes of all data files of a directory. */
  def of(directory: File, data: IndexedSeq[RankedColumn], conf: Configuration): LayoutQuality =
    new LayoutQuality(data, columns(dataFiles(directory), data.map(_.column), conf))

  /** What files say of some columns. */
  def columns(
      files: Seq[File],
      columns: Seq[OrderingColumn],
      conf: Configuration): IndexedSeq[FileColumns] = {
    val listed = files.map { f =>
      val path = new Path(f.toURI)
      DataFile.alone(path.getFileSystem(conf).getFileStatus(path))
    }
    FileColumns.read(listed, columns, withPages = true, _ == _, conf, ParquetFiles)
  }

  /** The data files of a directory tree, in the order of their names. */
  def dataFiles(directory: File): Seq[File] = {
    val stream = Files.walk(directory.toPath)
    try stream.iterator().asScala.map(_.toFile).filter(_.getName.endsWith(".parquet")).toIndexedSeq
        .sortBy(_.getPath)
    finally stream.close()
  }
}

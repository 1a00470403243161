package io.sparkzorder.quality

import java.io.File
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}
import io.sparkzorder.table.stats.{FileStatistics, RowGroupStatistics, UnitBounds}

/**
 * The ranges of the ordering columns, as ranks, for each file, row group and page.
 *
 * A unit without values has an empty range, because it still counts as a unit. A unit without min
 * and max has the range of all values, because every query reads it. A query that skips a file or a
 * row group skips the pages in it too.
 *
 * @param data all values of each ordering column, of the rows in these files
 */
final class LayoutQuality(data: IndexedSeq[RankedColumn], statistics: IndexedSeq[FileStatistics]) {
  private val files = statistics.filter(_.rows > 0)

  val fileRows: IndexedSeq[Long] = files.map(_.rows)
  val fileBytes: IndexedSeq[Long] = files.map(f => new File(f.path).length)

  /** For each column the range of each file. */
  val byFile: IndexedSeq[IndexedSeq[RankRange]] =
    data.map(c => files.map(f => ranks(c, f.bounds(c.column))))

  /** For each column the range of each row group. */
  val byRowGroup: IndexedSeq[IndexedSeq[RankRange]] =
    data.map(c => files.flatMap(f => f.rowGroups.map(inFile(c, f, _))))

  /** For each column the range of each of its pages. */
  val byPage: IndexedSeq[IndexedSeq[RankRange]] = data.map { c =>
    files.flatMap { f =>
      f.rowGroups.flatMap { g =>
        g.pageBounds(c.column).map(p => ranks(c, p).intersect(inFile(c, f, g)))
      }
    }
  }

  private def inFile(c: RankedColumn, f: FileStatistics, g: RowGroupStatistics): RankRange =
    ranks(c, g.bounds(c.column)).intersect(ranks(c, f.bounds(c.column)))

  private def ranks(column: RankedColumn, unit: UnitBounds): RankRange =
    if (unit.onlyNulls) RankRange.Empty
    else unit.range.map(column.ranksIn).getOrElse(column.all)
}

object LayoutQuality {

  /** Reads footers and page indexes of all data files of a directory. */
  def of(directory: File, data: IndexedSeq[RankedColumn], conf: Configuration): LayoutQuality = {
    val paths = dataFiles(directory).map(_.getPath)
    val columns = data.map(_.column.parts)
    new LayoutQuality(data, FileStatistics.load(paths, columns, conf).toIndexedSeq)
  }

  /** The data files of a directory tree, in the order of their names. */
  def dataFiles(directory: File): Seq[File] = {
    val stream = Files.walk(directory.toPath)
    try stream.iterator().asScala.map(_.toFile).filter(_.getName.endsWith(".parquet")).toIndexedSeq
        .sortBy(_.getPath)
    finally stream.close()
  }
}

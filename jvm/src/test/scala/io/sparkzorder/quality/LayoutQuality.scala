package io.sparkzorder.quality

import java.io.File
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}
import io.sparkzorder.table.stats.{FileStatistics, RowGroupStatistics, UnitBounds}

/**
 * What files say of the ordering columns, as ranges of ranks: by file, by row group and by page.
 *
 * Units without a value are kept as empty ranges, since they count as units, and units without min and
 * max as ranges of everything, since every query reads them. A page is ruled out where its row group or
 * its file is.
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

package io.sparkzorder.layout

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

import io.sparkzorder.grid.{FolderSample, Grid}
import io.sparkzorder.tables.Footer

/** Bounds of a column in one file; None where min/max say nothing, so that the file must be read. */
final case class FileRange(min: Any, max: Any)

/**
 * How many files a point query reads, judged by min/max alone: the mean over the values of sampled
 * rows, so that a frequent value counts as often as it occurs.
 */
object PointQueries {

  /**
   * @param ranges one a file; None for a file that every query must read
   * @param values sampled values of the column with the number of rows that each stands for; a
   *   NULL does not count
   * @return mean number of files; 0 when there is no value
   */
  def meanFiles(
      dataType: DataType,
      ranges: Seq[Option[FileRange]],
      values: Seq[(Any, Double)]): Double = {
    val present = values.filter(_._1 != null)
    if (present.isEmpty) 0.0
    else {
      val ordering = TypeUtils.getInterpretedOrdering(dataType)
      val known = ranges.flatten
      val mins = sorted(known.map(_.min), ordering)
      val maxs = sorted(known.map(_.max), ordering)
      val always = ranges.length - known.length
      val total = present.foldLeft(0.0) { case (sum, (v, weight)) =>
        val files = countTo(mins, v, inclusive = true, ordering) -
          countTo(maxs, v, inclusive = false, ordering)
        sum + files * weight
      }
      always + total / present.map(_._2).sum
    }
  }

  /** The ranges of a column in files, from their footers; files of only NULLs are left out. */
  def ranges(
      column: OrderingColumn,
      footers: Seq[Footer],
      sameName: (String, String) => Boolean): Seq[Option[FileRange]] =
    footers.filter(_.rows > 0).flatMap { f =>
      val leaves = f.schema.getColumns.asScala
      leaves.indexWhere { c =>
        c.getPath.length == column.parts.length &&
        c.getPath.toSeq.zip(column.parts).forall { case (a, b) => sameName(a, b) }
      } match {
        case -1 => None // the whole file is NULL there
        case i =>
          val bounds = f.leaves(i)
          val t = leaves(i).getPrimitiveType
          if (bounds.known && bounds.min == null) None
          else if (!bounds.known) Some(None)
          else {
            Some(for {
              min <- StatisticValue(bounds.min, t, column.dataType)
              max <- StatisticValue(bounds.max, t, column.dataType)
            } yield FileRange(min, max))
          }
      }
    }

  /** The ranges that the files of a grid will have, as far as the sample shows them. */
  def predicted(
      column: Int,
      dataType: DataType,
      grid: Grid,
      samples: IndexedSeq[FolderSample]): Seq[Option[FileRange]] = {
    val ordering = TypeUtils.getInterpretedOrdering(dataType)
    grid.folders.zip(samples).flatMap {
      case (Some(folder), sample) if sample.rows > 0 =>
        val zs = Grid.zValues(folder.ids, sample)
        val froms = folder.cells.map(_.from).toArray
        val byCell = zs.indices.groupBy { r =>
          val i = java.util.Arrays.binarySearch(froms, zs(r))
          if (i >= 0) i else -i - 2
        }
        byCell.toSeq.flatMap { case (cell, rows) =>
          val values = rows.map(sample.columns(column)(_)).filter(_ != null)
          if (values.isEmpty) Nil
          else {
            Seq.fill(folder.cells(cell).files)(
              Some(FileRange(values.min(ordering), values.max(ordering))))
          }
        }
      case _ => Nil
    }
  }

  /**
   * The bound for equal files: a folder of N files and d columns gives N^(1 - 1/d) files for a point
   * query on one column.
   *
   * @param filesOfFolders number of files of each folder
   */
  def ideal(filesOfFolders: Seq[Int], columns: Int): Double =
    filesOfFolders.filter(_ > 0).map(n => math.pow(n.toDouble, 1.0 - 1.0 / columns)).sum

  private def sorted(values: Seq[Any], ordering: Ordering[Any]): Array[AnyRef] = {
    val a = values.map(_.asInstanceOf[AnyRef]).toArray
    java.util.Arrays.sort(a, ordering.asInstanceOf[Ordering[AnyRef]])
    a
  }

  /** Number of values below `v`, or up to it. */
  private def countTo(
      sorted: Array[AnyRef],
      v: Any,
      inclusive: Boolean,
      ordering: Ordering[Any]): Int = {
    var lo = 0
    var hi = sorted.length
    while (lo < hi) {
      val mid = (lo + hi) >>> 1
      val c = ordering.compare(sorted(mid), v)
      if (c < 0 || (inclusive && c == 0)) lo = mid + 1 else hi = mid
    }
    lo
  }
}

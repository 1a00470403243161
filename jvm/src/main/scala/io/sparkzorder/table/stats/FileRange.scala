package io.sparkzorder.table.stats

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.util.LeafNames

/** Bounds of a column in one file; None where min/max say nothing, so that the file must be read. */
final case class FileRange(min: Any, max: Any)

object FileRange {

  /** The ranges of a column in files, from their footers; files of only NULLs are left out. */
  def ofFooters(
      column: OrderingColumn,
      footers: Seq[Footer],
      sameName: (String, String) => Boolean): Seq[Option[FileRange]] =
    footers.filter(_.rows > 0).flatMap { f =>
      leaf(column, f, sameName) match {
        case None => None // the whole file is NULL there
        case Some(i) =>
          val bounds = f.leaves(i)
          val t = f.schema.getColumns.get(i).getPrimitiveType
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

  /** Position of a column among the leaves of a file, if the file has it. */
  def leaf(
      column: OrderingColumn,
      footer: Footer,
      sameName: (String, String) => Boolean): Option[Int] =
    LeafNames.position(footer.schema, column.parts, sameName)
}

package io.sparkzorder.report

/**
 * Why a column may not be worth ordering by.
 *
 * @param isOrdered true for a column that the table is ordered by on purpose
 */
private[sparkzorder] final class ColumnWarnings(
    layout: ColumnLayout,
    units: ColumnUnits,
    isOrdered: Boolean) {
  import ColumnWarnings._

  private val files = layout.files
  private val bounds = units.files.map(_.bounds)
  private val unknown = bounds.count(b => !b.onlyNulls && b.range.isEmpty)
  private val folders = units.files.map(_.folder).distinct.size

  def all: Seq[String] =
    if (bounds.isEmpty) Nil
    else if (!units.isStored) Seq("no file has a column of this name")
    else if (bounds.forall(_.onlyNulls)) Seq("every row is NULL")
    else (values ++ order).toSeq ++ unknownBounds

  private def values: Option[String] =
    if (unknown > 0) None
    else if (layout.distinctAtLeast == 1) Some("constant: no query on it can skip a file")
    else units.distinctAtMost.filter(_ <= FewValues).map { n =>
      s"few distinct values: at most ${math.round(n)}"
    }

  private def order: Option[String] =
    if (!isOrdered && layout.distinctAtLeast > 1 && files.count >= FilesToFollow * folders &&
      files.perPointQuery <= math.max(FewFiles * folders, FarBelow * files.ideal)) {
      Some("already ordered: the files follow it as they are")
    } else None

  private def unknownBounds: Seq[String] =
    if (unknown == 0) Nil
    else Seq(s"$unknown of ${bounds.size} files have no min/max of it: every query reads them")
}

private[sparkzorder] object ColumnWarnings {

  /** At most so many values are few: a query of one reads a quarter of the files at best. */
  val FewValues = 4

  // a folder needs so many files to show an order
  private val FilesToFollow = 4
  // files of a folder that a point query reads where the files follow the column
  private val FewFiles = 1.25
  // or this share of the ideal
  private val FarBelow = 0.5
}

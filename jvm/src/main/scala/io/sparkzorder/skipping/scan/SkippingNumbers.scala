package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.InternalRow

/**
 * How the files of one directory of a listing were judged.
 *
 * @param values of the partition
 * @param files before skipping
 * @param prunedBy files that each cause lets go; a file counts for the first cause alone
 * @param noEntry files that are read because the index does not know them as they are
 */
final case class DirectoryNumbers(
    values: InternalRow,
    files: Int,
    prunedBy: IndexedSeq[Int],
    noEntry: Int)

/**
 * What the index made of a scan's files.
 *
 * @param causes columns of the predicates that may let files go
 */
final case class SkippingNumbers(causes: IndexedSeq[String], directories: Seq[DirectoryNumbers]) {

  /** Files that Spark would read without the index: those of the partitions that it has chosen. */
  val total: Long = directories.map(_.files.toLong).sum

  /** Files that each cause lets go. */
  val prunedBy: IndexedSeq[(String, Long)] =
    causes.zipWithIndex.map { case (c, i) => c -> directories.map(_.prunedBy(i).toLong).sum }

  val pruned: Long = prunedBy.map(_._2).sum

  /** Files that are read. */
  val kept: Long = total - pruned

  /** Of the files that are read, those of which the index knows nothing. */
  val noEntry: Long = directories.map(_.noEntry.toLong).sum

  /** The same for some partitions. */
  def of(values: Iterator[InternalRow]): SkippingNumbers = {
    val chosen = values.toSet
    copy(directories = directories.filter(d => chosen(d.values)))
  }

  /** As `3 of 64 (pruned by a: 50, b: 11)`. */
  override def toString: String = {
    val by = prunedBy.filter(_._2 > 0).sortBy(-_._2).map { case (c, n) => s"$c: $n" }
    val notes =
      (if (by.isEmpty) Nil else Seq(by.mkString("pruned by ", ", ", ""))) ++
        (if (noEntry > 0) Seq(s"not in the index: $noEntry") else Nil)
    s"$kept of $total" + (if (notes.isEmpty) "" else notes.mkString(" (", "; ", ")"))
  }
}

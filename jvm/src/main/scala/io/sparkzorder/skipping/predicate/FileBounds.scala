// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.util.{BitSet, HashMap => JavaHashMap}

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.index.{
  ColumnValues,
  FileTable,
  IndexColumns,
  IndexContent,
  IndexedColumn,
  LeafColumns,
  Sized
}

/**
 * Bounds of columns in the files of a table, as the table's format keeps them. The paths are as the format
 * spells them, and the columns have names by which the format tells them for ever.
 */
private[sparkzorder] final class FileBounds(content: IndexContent) extends Sized {

  private lazy val positions: JavaHashMap[String, Integer] = {
    val map = new JavaHashMap[String, Integer](content.files.size * 2)
    (0 until content.files.size).foreach(i => map.put(content.files.path(i), i))
    map
  }

  /** The position of a file; -1 if its bounds are not known. */
  def position(path: String): Int = {
    val found = positions.get(path)
    if (found == null) -1 else found.intValue
  }

  /** The columns that are there. */
  def columns: Set[String] = content.columns.map(_._1.name).toSet

  /**
   * The same bounds under the names that a query has for the columns.
   *
   * @param names in the query, by the format's own
   */
  def named(names: Map[String, String]): IndexColumns = new IndexColumns {
    private val chosen = content.columns.filter(c => names.contains(c._1.name))

    override val indexed: IndexedSeq[IndexedColumn] =
      chosen.map { case (c, _) => c.copy(path = Seq(names(c.name))) }

    // a file of which nothing is known may have the column: none counts as lacking it
    override val shapes: IndexedSeq[LeafColumns] =
      content.shapes.map(_ => LeafColumns(names.values.map(Seq(_)).toSeq))

    override def table: FileTable = content.files
    override def column(number: Int): ColumnValues = chosen(number)._2
  }

  // the map of paths is counted from the start, although it is made later
  override def bytes: Long =
    2 * content.files.bytes + 64L * content.files.size + content.columns.map(_._2.bytes).sum
}

/** What some filters of a query say of files with known bounds. */
private[sparkzorder] final class FilterOnBounds(
    filters: Seq[Expression],
    columns: TableColumns,
    bounds: IndexColumns,
    caseSensitive: Boolean) {

  /** Each conjunct with its test. */
  val tested: Seq[(ConjunctUse, FileTest)] =
    FilterOnFiles.tested(filters, columns, bounds, caseSensitive)

  /** False when every file is kept. */
  def isUseful: Boolean = tested.exists(!_._2.isInstanceOf[Unknown])

  /** The positions of the files that may hold a row for which all filters are true. */
  lazy val kept: BitSet =
    if (tested.isEmpty) all else FileTest.and(tested.map(_._2)).files(bounds.table.size)

  /** Prunes files of a listing by their paths. */
  def pruner(position: String => Int): FilePruner = new FilePruner {
    private val groups = KeptFiles.by(
      tested.filter(_._1.used).groupBy(c => FilterOnFiles.nameOf(c._1.columns)).toSeq
        .map { case (name, same) => name -> FileTest.and(same.map(_._2)) },
      bounds.table.size)

    override def prunedBy: IndexedSeq[String] = groups.prunedBy
    override def decide(file: FileStatus): Int = {
      val at = position(file.getPath.toString)
      if (at < 0) FilePruner.NoEntry else groups.decide(at)
    }
  }

  private def all: BitSet = BitSet.valueOf(FileTest.all(bounds.table.size))

  /** The share of the files that one value of `key` keeps on average; None if it is not known. */
  def shareKeptBy(key: Expression): Option[Double] =
    new KeysInFiles(columns, bounds, caseSensitive).share(key)

  /** The least and the greatest value in the files that have bounds; None if that is not known. */
  def rangeOf(key: Expression): Option[(Long, Long)] =
    new KeysInFiles(columns, bounds, caseSensitive).range(key)
}

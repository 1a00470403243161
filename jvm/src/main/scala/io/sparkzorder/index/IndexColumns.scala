package io.sparkzorder.index

/** What filters are judged by: files with the bounds of their columns, in a table's index or in memory. */
trait IndexColumns {

  /** The columns that are there. */
  def indexed: IndexedSeq[IndexedColumn]

  /** What leaf columns files have. */
  def shapes: IndexedSeq[FileShape]

  /** The data files. */
  def table: FileTable

  /** What is known of a column, by its position in [[indexed]]. */
  def column(number: Int): ColumnValues

  /** What is made of a column, where it can be kept for other queries: by its position and a name. */
  def derived[T <: Sized](number: Int, name: String)(make: => T): T = make
}

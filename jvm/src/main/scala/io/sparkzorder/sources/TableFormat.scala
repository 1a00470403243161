package io.sparkzorder.sources

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.InputRows
import io.sparkzorder.table.OrderingColumn

/**
 * A table whose format lists its files and commits changes by a transaction of its own. OPTIMIZE
 * calls the methods of the lower part in the order in which they stand here. Whatever is between
 * them, from the sample to the places of rows, is the same as for tables of plain files.
 */
trait TableFormat {

  /** Full name with its catalog, quoted for SQL. */
  def name: String

  /** True for a table of a catalog, false for a directory. */
  def isNamed: Boolean

  /** Such as `iceberg`. */
  def format: String

  def location: String
  def properties: Map[String, String]

  /** Settings that the table's own properties imply, by key; any other source overrides them. */
  def defaults: Map[String, String]

  def schema: StructType

  /** Columns that have one value in all rows of a folder, so that they cannot order rows. */
  def partitionSchema: StructType

  /** The latest layout; None if the table's history knows of none, or a column of it is gone. */
  def lastLayout: Option[LastLayout]

  /** True if the format keeps bounds of the column, so that files can be ordered by the column. */
  def hasBounds(column: OrderingColumn): Boolean

  /**
   * The statement of the format that takes the last run of OPTIMIZE back; None if there is none to
   * take back.
   */
  def rollback: Option[String]

  /** Refuses a table that must not be rewritten. */
  def check(): Unit

  /**
   * Refuses files that must not be rewritten. The caller asks before the first batch, so that no batch
   * is committed by a statement that is refused.
   */
  def check(files: Seq[FormatFile]): Unit

  /**
   * The files of the table as they are now.
   *
   * @param columns whose ranges are known
   * @param where chooses files that may hold matching rows
   */
  def snapshot(columns: Seq[OrderingColumn], where: Option[Expression]): TableSnapshot

  /**
   * The rows of some files of one group, with the format's deletes applied. The caller closes them.
   *
   * @param session the session that reads and writes; it is the active one
   */
  def frame(snapshot: TableSnapshot, session: Session, files: Seq[FormatFile]): FormatRows

  /** Writes a frame: one file for each partition that has rows. The table does not change. */
  def write(rows: FormatRows, frame: Frame): StagedFiles

  /**
   * Replaces the files of `rows` by the new ones in one commit. If that fails, nothing has changed
   * and the new files are deleted; they stay only if nobody can know whether the commit succeeded.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_CONFLICT if another writer was first
   */
  def commit(rows: FormatRows, staged: StagedFiles, layout: LayoutTag): Unit

  /** Deletes the files of a write that is not committed. */
  def abort(staged: StagedFiles): Unit
}

/** Some rows of a table, prepared for a rewrite. Closing them forgets the preparation. */
trait FormatRows extends InputRows with AutoCloseable {

  /** The columns to write. */
  def schema: StructType

  /** The folders of the files; the folder column has positions in this list. */
  def folders: IndexedSeq[FormatFolder]

  def files: Seq[FormatFile]
}

/** New files that no commit has added yet. */
trait StagedFiles {
  def files: IndexedSeq[FormatFile]
  def shuffleBytes: Long
}

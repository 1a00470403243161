// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.execution.datasources.{
  FileFormat,
  FileIndex,
  HadoopFsRelation,
  PartitionDirectory
}
import org.apache.spark.sql.functions.{col, monotonically_increasing_id, shiftleft, xxhash64}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.{IntegerType, StructType}

import io.sparkzorder.table.{DataFormat, TableFiles}

/**
 * The rows of the listed files only, with two more columns that say where a row comes from. One
 * column is the position of the row's folder in `files.folders`. The other is the position of its
 * file in `files.files`. The two columns cost nothing per row, because Spark adds them in the same
 * way as partition values.
 *
 * @param schema data columns to read
 * @param format the format of the files
 * @param reader the reader of the files; None for Spark's own reader
 * @param options the options of the reader
 */
private[sparkzorder] final class InputFrame(
    session: Session,
    files: TableFiles,
    schema: StructType,
    format: DataFormat,
    reader: Option[FileFormat] = None,
    options: Map[String, String] = Map.empty)
    extends InputRows {

  override val folderColumn: String = InputFrame.unused("_zorder_folder", schema, session)

  /** Name of the file column. No data column has this name. */
  val fileColumn: String = InputFrame.unused("_zorder_file", schema, session)

  override val frame: Frame = session.baseRelationToDataFrame(
    HadoopFsRelation(
      new ListedFiles(files, places),
      places,
      schema,
      None,
      reader.getOrElse(format.reader),
      options)(session))

  private def places: StructType =
    new StructType().add(folderColumn, IntegerType, false).add(fileColumn, IntegerType, false)

  /**
   * A BIGINT that tells the rows of a file apart: the position of the row in its file, if Spark
   * offers this position, else an id that Spark counts up within a task. The position and the id
   * ascend in the order of the rows. They are the same in every attempt of a task.
   */
  def rowIndex: Column =
    if (format.hasRowIndex) metadata("row_index") else monotonically_increasing_id()

  /**
   * The sort columns that restore the stored order: one file after the other, and the rows of each
   * file as they stand there.
   */
  def order: Seq[Column] = {
    val file = col(quoteIdentifier(fileColumn))
    // no format has 2^40 rows in a file, and no driver lists 2^23 files: the sum cannot overflow
    if (format.hasRowIndex) Seq(shiftleft(file.cast("bigint"), 40) + rowIndex)
    else Seq(file, metadata("file_block_start"), rowIndex)
  }

  private def metadata(field: String): Column = frame.metadataColumn("_metadata").getField(field)

  override def rowHash: Column = xxhash64(col(quoteIdentifier(fileColumn)), rowIndex)
}

private[sparkzorder] object InputFrame {

  /**
   * `wish` if no column of the schema has that name, else `wish` with the first number that is
   * free.
   */
  def unused(wish: String, schema: StructType, session: Session): String = {
    val sameName = session.sessionState.conf.resolver
    (Iterator(wish) ++ Iterator.from(1).map(i => s"$wish$i"))
      .find(n => !schema.exists(f => sameName(f.name, n)))
      .get
  }
}

/**
 * A file index of a fixed list of files. Each file is a partition of its own, whose values are the
 * positions of the folder and of the file.
 */
private final class ListedFiles(files: TableFiles, override val partitionSchema: StructType)
    extends FileIndex {
  private val folderPosition = files.folders.zipWithIndex.toMap

  override def rootPaths: Seq[Path] = Seq(files.root)
  override def refresh(): Unit = ()
  override def sizeInBytes: Long = files.files.map(_.length).sum
  override def inputFiles: Array[String] = files.files.map(_.path.toString).toArray

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    files.files.zipWithIndex.map { case (f, i) =>
      PartitionDirectory(InternalRow(folderPosition(f.folder), i), Array[FileStatus](f.status))
    }
}

/**
 * The rows of some files of a table, of any format, with one more column that tells the folder of a
 * row. Sampling and layout need no more than this.
 */
private[sparkzorder] trait InputRows {

  /** The data columns and the folder column; other columns may follow. */
  def frame: Frame

  /**
   * Name of the folder column, an INT that is never NULL: the position of the row's folder. No data
   * column has this name.
   */
  def folderColumn: String

  /**
   * A BIGINT hash of the file of a row and of its position there. The hash is the same in every
   * attempt of a task, unlike a random number.
   */
  def rowHash: Column

  final def folder: Attribute = attribute(folderColumn)

  final def attribute(name: String): Attribute =
    frame.queryExecution.analyzed.output.find(_.name == name).get

  /** An ordering column by its name parts. */
  final def resolve(parts: Seq[String]): Expression =
    frame.queryExecution.analyzed
      .resolve(parts, frame.sparkSession.sessionState.conf.resolver)
      .getOrElse(throw new NoSuchElementException(parts.mkString(".")))
}

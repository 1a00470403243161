// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.TableAction
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.Target

/** What a statement does with the index of a table. */
private[sparkzorder] sealed trait IndexAction extends TableAction {
  override def schema: StructType = IndexResult.schema
  override def description(target: Target): String = s"$statement ON ${target.name}"

  override def run(session: Session, target: Target): Seq[Row] =
    Seq(result(new IndexExecutor(session, target, statement)).toRow)

  protected def result(executor: IndexExecutor): IndexResult
}

/**
 * @param columns name parts; empty for the default columns
 * @param options `int96` alone
 */
private[sparkzorder] final case class CreateIndex(
    columns: Seq[Seq[String]],
    ifNotExists: Boolean,
    options: Map[String, String] = Map.empty)
    extends IndexAction {
  override def statement: String = "CREATE ZORDER INDEX"
  override protected def result(executor: IndexExecutor): IndexResult =
    executor.create(columns, ifNotExists, readsInt96)

  private def readsInt96: Boolean = {
    options.keys.find(!_.equalsIgnoreCase(CreateIndex.Int96)).foreach { key =>
      throw ZOrderErrors.unknownSetting(key, Seq(CreateIndex.Int96))
    }
    options.values.find(!_.equalsIgnoreCase(CreateIndex.Read)).foreach { value =>
      throw ZOrderErrors.invalidSetting(
        CreateIndex.Int96,
        value,
        s"it must be ${CreateIndex.Read}")
    }
    options.nonEmpty
  }
}

private[sparkzorder] object CreateIndex {
  private val Int96 = "int96"
  private val Read = "read"
}

/** @param columns name parts; empty for those that the index has */
private[sparkzorder] final case class RefreshIndex(columns: Seq[Seq[String]]) extends IndexAction {
  override def statement: String = "REFRESH ZORDER INDEX"
  override protected def result(executor: IndexExecutor): IndexResult = executor.refresh(columns)
}

private[sparkzorder] final case class DropIndex(ifExists: Boolean) extends IndexAction {
  override def statement: String = "DROP ZORDER INDEX"
  override protected def result(executor: IndexExecutor): IndexResult = executor.drop(ifExists)
}

/**
 * The one row of a statement on an index.
 *
 * @param path the table's directory
 * @param files data files in the index; for DROP, the files that were in the index
 * @param columns indexed columns
 * @param rows of these files
 * @param indexBytes size of the index
 * @param filesRead data files whose footers were read
 * @param reason why nothing, or not everything, was done
 */
private[sparkzorder] final case class IndexResult(
    path: String,
    files: Long,
    columns: Seq[String],
    rows: Long,
    indexBytes: Long,
    filesRead: Long,
    reason: Option[String]) {
  def toRow: Row = Row(path, files, columns, rows, indexBytes, filesRead, reason.orNull)
}

private[sparkzorder] object IndexResult {

  /** Columns of the result, as the SQL reference documents them. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("rows", LongType, nullable = false)
    .add("indexBytes", LongType, nullable = false)
    .add("filesRead", LongType, nullable = false)
    .add("reason", StringType)
}

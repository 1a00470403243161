// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.TableAction
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.ValuesSummary
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
 * @param options the values of the options `int96` and `values`
 */
private[sparkzorder] final case class CreateIndex(
    columns: Seq[Seq[String]],
    ifNotExists: Boolean,
    options: Map[String, String] = Map.empty)
    extends IndexAction {
  override def statement: String = "CREATE ZORDER INDEX"
  override protected def result(executor: IndexExecutor): IndexResult =
    executor.create(columns, ifNotExists, readsInt96, option(CreateIndex.Values))

  private def readsInt96: Boolean = {
    options.keys.find(k => !CreateIndex.Known.exists(k.equalsIgnoreCase)).foreach { key =>
      throw ZOrderErrors.unknownSetting(key, CreateIndex.Known)
    }
    val int96 = option(CreateIndex.Int96)
    int96.filterNot(_.equalsIgnoreCase(CreateIndex.Read)).foreach { value =>
      throw ZOrderErrors.invalidSetting(
        CreateIndex.Int96,
        value,
        s"it must be ${CreateIndex.Read}")
    }
    int96.isDefined
  }

  private def option(name: String): Option[String] =
    options.collectFirst { case (key, value) if key.equalsIgnoreCase(name) => value }
}

private[sparkzorder] object CreateIndex {
  private val Int96 = "int96"
  private val Values = "values"
  private val Known = Seq(Int96, Values)
  private val Read = "read"
}

/** @param columns name parts; empty for the columns that the index has */
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
 * @param files the number of data files in the index; for DROP, in the index that was dropped
 * @param columns indexed columns
 * @param rows the number of rows of these files
 * @param indexBytes size of the index
 * @param filesRead the number of data files whose footers were read
 * @param reason why nothing, or not everything, was done
 * @param values what the index holds of each column whose values are indexed
 * @param valuesMillis the time in milliseconds that the statement took to index the values of all columns
 */
private[sparkzorder] final case class IndexResult(
    path: String,
    files: Long,
    columns: Seq[String],
    rows: Long,
    indexBytes: Long,
    filesRead: Long,
    reason: Option[String],
    values: Seq[ValuesSummary] = Nil,
    valuesMillis: Long = 0L) {
  def toRow: Row = {
    val ofValues = values.map(v =>
      Row(v.column, v.files, v.uncovered, v.pairs, v.bytes, valuesMillis))
    Row(path, files, columns, rows, indexBytes, filesRead, reason.orNull, ofValues)
  }
}

private[sparkzorder] object IndexResult {

  private def values: StructType = new StructType()
    .add("column", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("filesUncovered", LongType, nullable = false)
    .add("entries", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("millis", LongType, nullable = false)

  /** Columns of the result, as the SQL reference documents them. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("rows", LongType, nullable = false)
    .add("indexBytes", LongType, nullable = false)
    .add("filesRead", LongType, nullable = false)
    .add("reason", StringType)
    .add("values", ArrayType(values, containsNull = false), nullable = false)
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.annotation.tailrec
import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, FileFormat, PartitionSpec, TableProperties, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager
import org.apache.iceberg.expressions.{Expression => IcebergExpression, Expressions}
import org.apache.iceberg.spark.SparkSchemaUtil
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.util.StatementText

/**
 * An Iceberg table: Iceberg's scan reads the rows, Iceberg's writer writes the files, and one `RewriteFiles`
 * replaces the files of a batch. Iceberg's own `rewrite_data_files` has the same steps.
 *
 * @param name full name, quoted for SQL
 */
private[iceberg] final class IcebergFormat(
    table: BaseTable,
    override val name: String,
    override val isNamed: Boolean)
    extends SnapshotFormat {
  import IcebergFormat._

  override def format: String = "iceberg"
  override def location: String = table.location
  override def properties: Map[String, String] = table.properties.asScala.toMap

  override def defaults: Map[String, String] =
    properties.get(TableProperties.WRITE_TARGET_FILE_SIZE_BYTES)
      .map(Settings.TargetFileSize.key -> _).toMap

  override def schema: StructType = SparkSchemaUtil.convert(table.schema)

  /**
   * The source columns of identity transforms. The source column of another transform, such as `days(ts)`, may have
   * several values in a partition, so rows can be ordered by it.
   */
  override def partitionSchema: StructType = {
    val names = for {
      field <- table.spec.fields.asScala
      if field.transform.isIdentity
      column <- Option(table.schema.findColumnName(field.sourceId))
    } yield column
    StructType(schema.filter(f => names.contains(f.name)))
  }

  override def lastLayout: Option[LastLayout] = new IcebergLayouts(table).lastLayout

  // true for each column, because a rewrite also writes the bounds that the table's settings leave out
  override def hasBounds(column: OrderingColumn): Boolean = true

  override def rollback: Option[String] = {
    table.refresh()
    new IcebergLayouts(table).beforeLastRun.map { case (snapshot, later) =>
      val parts =
        SparkLine.session(SparkSession.active).sessionState.sqlParser.parseMultipartIdentifier(name)
      val catalog = quoteIfNeeded(parts.head)
      val own = StatementText.string(parts.tail.map(quoteIfNeeded).mkString("."))
      s"CALL $catalog.system.rollback_to_snapshot($own, $snapshot)" +
        (if (later == 0) ""
         else if (later == 1) ", which takes back 1 later commit of another writer as well"
         else s", which takes back $later later commits of other writers as well")
    }
  }

  override def checkTable(): Unit = {
    table.refresh()
    val version = TableUtil.formatVersion(table)
    if (version > MaxFormatVersion) {
      throw ZOrderErrors.unsupportedTable(
        name,
        s"an Iceberg table of format version $version",
        "Use Iceberg's own CALL system.rewrite_data_files.")
    }
  }

  override def snapshot(
      columns: Seq[OrderingColumn],
      where: Option[Expression]): IcebergSnapshot = {
    table.refresh()
    val fields = columns.map(c => IcebergColumn(c, field(c).fieldId, field(c).`type`))
    val filter = where.map(new IcebergFilter(table, name).of(_))
    planned(fields, filter, Attempts)
  }

  /**
   * Plans a scan of the current snapshot with the table's current schema. (A scan that names a snapshot has the
   * schema of that snapshot's time.) The scan is planned again if another thread refreshes the table meanwhile, so
   * that the current snapshot becomes another one.
   */
  @tailrec
  private def planned(
      fields: Seq[IcebergColumn],
      filter: Option[IcebergExpression],
      attempts: Int): IcebergSnapshot = {
    val current = Option(table.currentSnapshot)
    val files =
      if (current.isEmpty) IndexedSeq.empty else new IcebergFiles(table, fields).planned(filter)
    if (Option(table.currentSnapshot).map(_.snapshotId) == current.map(_.snapshotId)) {
      new IcebergSnapshot(this, current, fields, files)
    } else if (attempts > 1) planned(fields, filter, attempts - 1)
    else throw ZOrderErrors.conflict(name, "its state changed whenever it was read")
  }

  private[iceberg] def rows(
      snapshot: IcebergSnapshot,
      session: Session,
      listed: IndexedSeq[IcebergFile]): IcebergRows = {
    // the table may have been altered since the run began
    table.refresh()
    check(listed)
    val files = withRowIds(listed)
    files.find(_.task.residual != Expressions.alwaysTrue).foreach { f =>
      throw ZOrderErrors.verificationFailed(
        name,
        s"a reader of ${f.path} would leave out rows by ${f.task.residual}")
    }
    snapshot.fields.foreach { f =>
      val now = field(f.column)
      if (now.fieldId != f.id || now.`type` != f.dataType) {
        throw ZOrderErrors.conflict(name, s"the column ${f.column.name} became another one")
      }
    }
    val staging = new Staging(table, snapshot.fields, files)
    try new IcebergRows(table, name, snapshot, session, files, staging)
    catch {
      case e: Throwable =>
        staging.close()
        throw e
    }
  }

  /**
   * True if the values of the table must lie in encrypted files only. Iceberg's property asks for that, and so does a
   * catalog with an encryption of its own.
   */
  private[iceberg] def isEncrypted: Boolean =
    table.properties.containsKey(TableProperties.ENCRYPTION_TABLE_KEY) ||
      !table.encryption.isInstanceOf[PlaintextEncryptionManager]

  // Listed once for all batches: an id never changes. Deletes that come later are a conflict at the commit.
  private lazy val listedWithIds: Map[String, IcebergFile] =
    planned(Nil, None, Attempts).files.map(f => f.path -> f).toMap

  /** The files with the ids that their rows have now. They differ if the rows got ids since the files were listed. */
  private def withRowIds(files: IndexedSeq[IcebergFile]): IndexedSeq[IcebergFile] =
    if (!IcebergRowIds.areNew(files, table.currentSnapshot)) files
    else {
      files.map { f =>
        listedWithIds.get(f.path).filter(_.hasDeletesOf(f)).map(f.listedAs(_)).getOrElse {
          throw ZOrderErrors.conflict(name, s"${f.path} was removed, or rows of it were deleted")
        }
      }
    }

  /**
   * Refuses ORC and Avro files in a table with row ids. In some versions, Iceberg's readers of these formats give
   * all rows of a file the same id, or none.
   */
  private[iceberg] def check(files: Seq[IcebergFile]): Unit =
    if (files.nonEmpty && TableUtil.supportsRowLineage(table)) {
      val written = FileFormat.fromString(properties.getOrElse(
        TableProperties.DEFAULT_FILE_FORMAT,
        TableProperties.DEFAULT_FILE_FORMAT_DEFAULT))
      (files.map(_.file.format) :+ written).find(
        _ != FileFormat.PARQUET).foreach { format =>
        throw ZOrderErrors.unsupportedTable(
          name,
          s"an Iceberg table with row ids and $format files, in which Iceberg does not keep the ids",
          "Use Parquet files.")
      }
    }

  // fails if another writer has renamed or dropped the column since the columns were looked up
  private def field(c: OrderingColumn): NestedField = {
    def in(struct: Types.StructType, parts: Seq[String]): Option[NestedField] =
      Option(struct.field(parts.head)).flatMap { found =>
        if (parts.size == 1) Some(found)
        else if (found.`type`.isStructType) in(found.`type`.asStructType, parts.tail)
        else None
      }
    in(table.schema.asStruct, c.parts).getOrElse {
      throw ZOrderErrors.conflict(name, s"the column ${c.name} was renamed or dropped")
    }
  }
}

private[iceberg] object IcebergFormat {
  val MaxFormatVersion = 3
  private val Attempts = 5

  /** True if rows can still be written into partitions of the spec. */
  def isWritable(spec: PartitionSpec): Boolean =
    spec.fields.asScala.forall { f =>
      f.transform.isVoid || spec.schema.findField(f.sourceId) != null
    }
}

/** Turns a WHERE clause into the filter of an Iceberg scan, as Iceberg's procedures do. */
private[iceberg] final class IcebergFilter(table: BaseTable, name: String) {

  /** @param where with unresolved columns */
  def of(where: Expression): IcebergExpression =
    FormatFilter.simplified(where, name, SparkSchemaUtil.convert(table.schema)) match {
      case None => Expressions.alwaysFalse()
      case Some(Seq()) => Expressions.alwaysTrue()
      case Some(conjuncts) =>
        try SparkExpressionConverter.convertToIcebergExpression(conjuncts.reduceLeft(And(_, _)))
        catch {
          case NonFatal(e) =>
            val cause = ZOrderErrors.firstLine(e).stripSuffix(".")
            throw FormatFilter.untranslatable(where, name, s"Iceberg cannot evaluate it, $cause")
        }
    }
}

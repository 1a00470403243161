// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/**
 * A listing of a table of any format whose data files are Parquet or ORC. The listing is only for
 * commands that change nothing.
 *
 * @param name the name of the table in messages
 * @param files the table's data files; if Spark or Iceberg listed them, each folder stands for one partition
 * @param schema data columns; None if only the footers of the files have them
 * @param target the target, whose `_zorder/` may have records of the layout; None for a table that
 *   only Spark or Iceberg can list
 * @param format of the data files
 * @param ordering columns of the last layout, if the history of a Delta or Iceberg table has them
 * @param declared columns in the property `zorder.columns` of a Delta or Iceberg table
 * @param warnings warnings about the table as a whole
 */
private[sparkzorder] final case class ListedTable(
    name: String,
    files: TableFiles,
    schema: Option[StructType],
    target: Option[Target],
    format: DataFormat,
    ordering: Option[String] = None,
    declared: Option[String] = None,
    warnings: Seq[String] = Nil)

private[sparkzorder] object ListedTable {

  /**
   * The files of a table that Spark or Iceberg has listed, in the form of our own listing. Delta and Iceberg
   * keep lists of their files, which our own lister does not read.
   *
   * @param partitions values and files of each partition; a partition becomes a folder of the
   *   listing
   */
  private[table] def filesOf(
      root: Path,
      partitionSchema: StructType,
      partitions: Seq[(InternalRow, Seq[FileStatus])]): TableFiles = {
    val folders = partitions.map { case (values, files) =>
      new Folder(files.headOption.fold(root)(_.getPath.getParent), values)
    }
    val files = folders.zip(partitions).flatMap { case (folder, (_, own)) =>
      own.map(DataFile(folder, _))
    }
    TableFiles(
      root,
      partitionSchema,
      None,
      folders.toIndexedSeq,
      files.sortBy(_.path.toString).toIndexedSeq,
      Nil)
  }
}

/**
 * Lists tables that Spark reads as Parquet or ORC files: Delta tables, Hive-format tables, tables
 * with options that choose files. The file index of Spark's relation decides which files belong to
 * the table.
 */
private[sparkzorder] object RelationLister {

  /**
   * None if the query does not read exactly one relation, or if the files of the relation are not Parquet or ORC.
   */
  def list(name: String, frame: Frame): Option[ListedTable] =
    frame.queryExecution.analyzed.collect { case l: LogicalRelation => l.relation } match {
      case Seq(r: HadoopFsRelation) =>
        DataFormat.readBy(r.fileFormat)
          .map(ListedTable(name, filesOf(r), Some(r.dataSchema), None, _))
      case _ => None
    }

  private def filesOf(r: HadoopFsRelation): TableFiles = {
    // a file index may return one partition in several parts
    val partitions = r.location.listFiles(Nil, Nil)
      .groupBy(_.values.copy().toSeq(r.partitionSchema)).values.toSeq
      .map(parts => (parts.head.values, parts.flatMap(_.files).map(_.fileStatus)))
    ListedTable.filesOf(
      r.location.rootPaths.headOption.getOrElse(new Path("/")),
      r.partitionSchema,
      partitions.filter(_._2.nonEmpty))
  }
}

/**
 * Lists an Iceberg table through its metadata table `files`, so the code needs no class of Iceberg.
 */
private[sparkzorder] object IcebergLister {

  /** @param quoted name of the table in SQL, including the catalog */
  def list(session: Session, quoted: String): ListedTable = {
    val files = session.table(s"$quoted.files")
    // content 0 is a data file, and other numbers are delete files. The column `partition` is
    // missing in a table without partitions
    val partition = if (files.columns.contains("partition")) "to_json(partition)" else "''"
    val rows = files.where("content = 0")
      .selectExpr("file_path", "file_size_in_bytes", "file_format", "spec_id", s"$partition AS p")
      .collect()
    rows.map(_.getString(2)).find(!_.equalsIgnoreCase("parquet")).foreach { format =>
      throw ZOrderErrors.layoutNotKnown(quoted, s"it has data files of the format $format")
    }
    val partitions = rows.toSeq.groupBy(r => (r.getInt(3), r.getString(4))).toSeq
      .sortBy(_._1).map { case (_, own) => (InternalRow.empty, own.map(status)) }
    val root = partitions.headOption.fold(new Path("/"))(_._2.head.getPath.getParent)
    ListedTable(
      quoted,
      ListedTable.filesOf(root, new StructType(), partitions),
      Some(session.table(quoted).schema),
      None,
      ParquetFiles,
      ordering(session, quoted))
  }

  /** The columns of the last commit of OPTIMIZE that no rollback has taken out of the table's history. */
  private def ordering(session: Session, quoted: String): Option[String] =
    session.table(s"$quoted.snapshots").where("summary['zorder-columns'] IS NOT NULL")
      .join(session.table(s"$quoted.history").where("is_current_ancestor"), "snapshot_id")
      .selectExpr("max_by(summary['zorder-columns'], committed_at)").collect().headOption
      .flatMap(r => Option(r.getString(0)))

  private def status(row: Row): FileStatus =
    new FileStatus(row.getLong(1), false, 0, 0L, 0L, new Path(row.getString(0)))
}

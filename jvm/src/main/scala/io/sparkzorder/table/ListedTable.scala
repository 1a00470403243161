package io.sparkzorder.table

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/**
 * A table of any format whose data files are Parquet or ORC, listed for looking at it.
 *
 * @param name how messages name it
 * @param files its data files; for tables of other formats the folders are its partitions
 * @param schema data columns; None where only the files know them
 * @param target the table if it is one of ours, whose `_zorder/` may say more
 * @param format of its data files
 */
final case class ListedTable(
    name: String,
    files: TableFiles,
    schema: Option[StructType],
    target: Option[Target],
    format: DataFormat)

object ListedTable {

  /**
   * Files of a table that another format keeps account of, as a listing of ours.
   *
   * @param partitions values and files of each; they stand for folders
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
 * Lists whatever Spark reads as Parquet or ORC files: Delta tables, Hive-format tables, tables with
 * options that choose files. The relation's own file index says which files count.
 */
object RelationLister {

  /** None when the query does not read one relation of such files. */
  def list(name: String, frame: Frame): Option[ListedTable] =
    frame.queryExecution.analyzed.collect { case l: LogicalRelation => l.relation } match {
      case Seq(r: HadoopFsRelation) =>
        DataFormat.readBy(r.fileFormat)
          .map(ListedTable(name, filesOf(r), Some(r.dataSchema), None, _))
      case _ => None
    }

  private def filesOf(r: HadoopFsRelation): TableFiles = {
    // an index may give one partition in several parts
    val partitions = r.location.listFiles(Nil, Nil)
      .groupBy(_.values.copy().toSeq(r.partitionSchema)).values.toSeq
      .map(parts => (parts.head.values, parts.flatMap(_.files).map(_.fileStatus)))
    ListedTable.filesOf(
      r.location.rootPaths.headOption.getOrElse(new Path("/")),
      r.partitionSchema,
      partitions.filter(_._2.nonEmpty))
  }
}

/** Lists an Iceberg table by its metadata table `files`; no class of Iceberg's is needed. */
object IcebergLister {

  /** @param quoted name of the table, catalog included, as SQL has it */
  def list(session: Session, quoted: String): ListedTable = {
    val files = session.table(s"$quoted.files")
    // content 0 is data, the others are deletes; a table without partitions lacks the column
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
      ParquetFiles)
  }

  private def status(row: Row): FileStatus =
    new FileStatus(row.getLong(1), false, 0, 0L, 0L, new Path(row.getString(0)))
}

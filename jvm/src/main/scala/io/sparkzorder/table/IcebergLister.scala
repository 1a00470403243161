package io.sparkzorder.table

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

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
      OtherFiles.of(root, new StructType(), partitions),
      Some(session.table(quoted).schema),
      None,
      ParquetFiles)
  }

  private def status(row: Row): FileStatus =
    new FileStatus(row.getLong(1), false, 0, 0L, 0L, new Path(row.getString(0)))
}

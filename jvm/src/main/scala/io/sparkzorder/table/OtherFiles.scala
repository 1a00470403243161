package io.sparkzorder.table

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** Files of a table that another format keeps account of, as a listing of ours. */
private[sparkzorder] object OtherFiles {

  /** @param partitions values and files of each; they stand for folders */
  def of(
      root: Path,
      partitionSchema: StructType,
      partitions: Seq[(InternalRow, Seq[FileStatus])]): TableFiles = {
    val folders = partitions.zipWithIndex.map { case ((values, files), i) =>
      Folder(i, files.headOption.fold(root)(_.getPath.getParent), values)
    }
    val files = partitions.zipWithIndex.flatMap { case ((_, own), i) => own.map(i -> _) }
      .sortBy(_._2.getPath.toString).zipWithIndex
      .map { case ((folder, status), i) => DataFile(i, folder, status) }
    TableFiles(root, partitionSchema, None, folders.toIndexedSeq, files.toIndexedSeq, Nil)
  }
}

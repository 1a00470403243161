package io.sparkzorder.table

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/**
 * A directory that holds data files: the table's root, or one partition directory exactly as it is
 * named (`p=1` and `p=01` are two folders of one partition value).
 *
 * @param ordinal position in [[TableFiles.folders]]
 * @param path qualified directory
 * @param values its partition values, empty without partitions
 */
final case class Folder(ordinal: Int, path: Path, values: InternalRow)

/**
 * A data file as it was listed.
 *
 * @param ordinal position in [[TableFiles.files]]
 * @param folder ordinal of its [[Folder]]
 */
final case class DataFile(ordinal: Int, folder: Int, status: FileStatus) {
  def path: Path = status.getPath
  def length: Long = status.getLen
  def modified: Long = status.getModificationTime
}

/** A partition that lies outside the table's directory and is therefore left as it is. */
final case class OutsidePartition(spec: String, location: String, values: InternalRow)

/**
 * The files of a table at one moment.
 *
 * @param root qualified directory of the table
 * @param partitionSchema partition columns with their types; empty without partitions
 * @param catalogSchema data columns that the catalog declares; None for a path
 */
final case class TableFiles(
    root: Path,
    partitionSchema: StructType,
    catalogSchema: Option[StructType],
    folders: IndexedSeq[Folder],
    files: IndexedSeq[DataFile],
    outside: Seq[OutsidePartition]) {

  /** The same listing, reduced to some folders; ordinals are made anew. */
  def onlyFolders(keep: Folder => Boolean): TableFiles = {
    val kept = folders.filter(keep)
    val renumbered = kept.zipWithIndex.map { case (f, i) => f.ordinal -> i }.toMap
    copy(
      folders = kept.zipWithIndex.map { case (f, i) => f.copy(ordinal = i) },
      files = files
        .filter(f => renumbered.contains(f.folder))
        .zipWithIndex
        .map { case (f, i) => f.copy(ordinal = i, folder = renumbered(f.folder)) })
  }

  /** The same listing, reduced to some files; the folders stay. */
  def onlyFiles(keep: DataFile => Boolean): TableFiles =
    copy(files = files.filter(keep).zipWithIndex.map { case (f, i) => f.copy(ordinal = i) })
}

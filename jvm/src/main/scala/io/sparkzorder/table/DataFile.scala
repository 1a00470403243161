// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.time.{ZoneId, ZoneOffset}

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.Paths

/**
 * A directory that holds data files: the table's root, or one partition directory exactly as it is named (`p=1` and
 * `p=01` are two folders of one partition value). Folders are compared by identity, because two partitions of a
 * Delta or Iceberg table may lie in one directory.
 *
 * @param path qualified directory
 * @param values its partition values, empty without partitions
 */
private[sparkzorder] final class Folder(val path: Path, val values: InternalRow) {
  override def toString: String = path.toString
}

/** A data file as it was listed. */
private[sparkzorder] final case class DataFile(folder: Folder, status: FileStatus) {
  def path: Path = status.getPath
  def length: Long = status.getLen
  def modified: Long = status.getModificationTime

  /** True if `now`, a later status of the same path, has the same length and modification time. */
  def isUnchanged(now: DataFile): Boolean = now.length == length && now.modified == modified
}

private[sparkzorder] object DataFile {

  /** A file that is read by itself, without its table. */
  def alone(status: FileStatus): DataFile =
    DataFile(new Folder(status.getPath.getParent, InternalRow.empty), status)
}

/** A partition that lies outside the table's directory and is therefore left as it is. */
private[sparkzorder] final case class OutsidePartition(
    spec: String,
    location: String,
    values: InternalRow)

/**
 * The files of a table at one moment.
 *
 * @param root qualified directory of the table
 * @param partitionSchema partition columns with their types; empty without partitions
 * @param catalogSchema data columns that the catalog declares; None for a path
 * @param folders the folders of the table, also those without files
 * @param tokens the tokens of runs that are being published
 * @param zone the time zone in which the names of directories are read as partition values
 */
private[sparkzorder] final case class TableFiles(
    root: Path,
    partitionSchema: StructType,
    catalogSchema: Option[StructType],
    folders: IndexedSeq[Folder],
    files: IndexedSeq[DataFile],
    outside: Seq[OutsidePartition],
    tokens: Seq[Path] = Nil,
    zone: ZoneId = ZoneOffset.UTC) {

  /**
   * A folder that Spark does not list, because it has no visible file now. Its partition values are those of its name.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when the name has no such values
   */
  def unlisted(folder: Path): Folder = PartitionNames.texts(partitionSchema, root, folder) match {
    case Some(texts) =>
      new Folder(folder, PartitionNames.values(partitionSchema, texts, folder, zone))
    case None if partitionSchema.isEmpty => new Folder(folder, InternalRow.empty)
    case None =>
      val columns = partitionSchema.fieldNames.mkString(", ")
      throw ZOrderErrors.listingIncomplete(
        folder.toString,
        "the directory has no visible file, and its name has no values of the partition columns " +
          columns)
  }

  /** The same listing, reduced to some folders and their files. */
  def onlyFolders(keep: Folder => Boolean): TableFiles = {
    val kept = folders.filter(keep)
    val isKept = kept.toSet
    copy(folders = kept, files = files.filter(f => isKept(f.folder)))
  }
}

/**
 * The token: an empty data file that lies in a folder while a run is published there. It holds no row and is
 * removed later, so it does not count as a file of the table.
 */
private[sparkzorder] object TokenFile {
  val Prefix = "part-zorder-"
  private val Name = s"$Prefix${Paths.Uuid}\\.[a-z]+".r.pattern

  def isOne(name: String): Boolean = name.startsWith(Prefix) && Name.matcher(name).matches()

  /** The id of the run in the name of a token. */
  def runOf(name: String): String = name.stripPrefix(Prefix).takeWhile(_ != '.')
}

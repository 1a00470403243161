// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.FileNotFoundException
import java.util.Locale

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId
import org.apache.spark.sql.execution.datasources.{InMemoryFileIndex, PartitionSpec}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{Directories, ManyFiles}

/** Lists a table's data files as Spark itself would read them, by Spark's own file index. */
private[sparkzorder] final class TableLister(session: Session, target: Target) {
  private val conf = session.sessionState.newHadoopConf()
  private val root = target.root(conf)

  def list(): TableFiles = list(identity[TableFiles], (files, _) => files)

  /**
   * Lists some folders of the table. If the catalog knows the partitions, only these folders are listed. Otherwise
   * Spark finds the partitions, and lists all folders for that.
   *
   * @param choose returns the table with only the wanted folders; called before the files are listed if the
   *   catalog knows the partitions, else afterwards
   * @param correct turns the listed files into the files that count; its second argument is true
   *   if the whole table was listed
   */
  def list(
      choose: TableFiles => TableFiles,
      correct: (TableFiles, Boolean) => TableFiles): TableFiles = {
    def fromRoot(table: Option[CatalogTable]) = choose(correct(listRoot(table), true))
    target match {
      case _: PathTarget => fromRoot(None)
      case CatalogTarget(table) if table.partitionColumnNames.isEmpty => fromRoot(Some(table))
      case CatalogTarget(table) if !table.tracksPartitionsInCatalog => fromRoot(Some(table))
      case CatalogTarget(table) => correct(listPartitions(table, choose), false)
    }
  }

  /** All files that are in some folders now, also those with hidden names, by their paths. */
  def listAgain(folders: Seq[Folder]): Map[Path, DataFile] =
    ManyFiles.map(folders) { folder =>
      val there = Directories.list(folder.path.getFileSystem(conf), folder.path)
      there.toSeq.flatten.filter(_.isFile).map(f => f.getPath -> DataFile(folder, f))
    }.flatten.toMap

  /** The present state of those of the given files that still exist, by their paths. */
  def lookAgain(files: Seq[DataFile]): Map[Path, DataFile] =
    ManyFiles.map(files) { f =>
      try {
        val now = f.path.getFileSystem(conf).getFileStatus(f.path)
        if (now.isFile) Some(f.path -> DataFile(f.folder, now)) else None
      } catch { case _: FileNotFoundException => None }
    }.flatten.toMap

  private def listRoot(table: Option[CatalogTable]): TableFiles = {
    val index =
      new AllLeafFiles(session, Seq(root), table.map(_.partitionSchema).filter(_.nonEmpty))
    val spec = partitionSpec(index)
    // a directory such as `p=1/extra` is an error: Spark reads it as p=1, but other engines do not
    if (spec.partitions.exists(p => !isPartition(p.path))) refuseOutside(index)
    val folders =
      if (spec.partitionColumns.isEmpty) Seq(new Folder(root, InternalRow.empty))
      else spec.partitions.sortBy(_.path.toString).map(p => new Folder(p.path, p.values))
    val schema = if (spec.partitionColumns.isEmpty) new StructType() else spec.partitionColumns
    build(schema, table, folders.toIndexedSeq, index.all, Nil)
  }

  private def listPartitions(
      table: CatalogTable,
      choose: TableFiles => TableFiles): TableFiles = {
    val zone = session.sessionState.conf.sessionLocalTimeZone
    val partitions = session.sessionState.catalog.listPartitions(table.identifier)
    // Spark reads a partition of its own tables by the provider of the table, whatever SerDe Hive's metastore notes
    if (CatalogTarget(table).isHiveFormat) FileChecks.checkPartitions(target, partitions)
    val located = partitions.map { p =>
      val path = new Path(p.location)
      path.getFileSystem(conf).makeQualified(path) -> p
    }
    val (inside, outside) = located.partition { case (path, _) => isBelow(root, path) }
    val folders = inside.map { case (path, p) => path -> p.toRow(table.partitionSchema, zone) }
      .sortBy(_._1.toString).toIndexedSeq
      .map { case (path, values) => new Folder(path, values) }
    val beside = outside.map { case (path, p) =>
      OutsidePartition(specText(table, p), path.toString, p.toRow(table.partitionSchema, zone))
    }
    val chosen = choose(build(table.partitionSchema, Some(table), folders, Nil, beside))
    val paths = chosen.folders.map(_.path)
    val files = if (paths.isEmpty) Nil else new AllLeafFiles(session, paths, None).all
    build(table.partitionSchema, Some(table), chosen.folders, files, chosen.outside)
  }

  private def build(
      partitionSchema: StructType,
      table: Option[CatalogTable],
      folders: IndexedSeq[Folder],
      statuses: Seq[FileStatus],
      outside: Seq[OutsidePartition]): TableFiles = {
    val byPath = folders.map(f => f.path -> f).toMap
    val files = statuses.filter(TableLister.isData).sortBy(_.getPath.toString).toIndexedSeq
    files.find(f => !byPath.contains(f.getPath.getParent)).foreach { f =>
      throw ZOrderErrors.filesOutsidePartitions(target.name, f.getPath.toString)
    }
    TableFiles(
      root,
      partitionSchema,
      table.map(_.dataSchema),
      folders,
      files.map(f => DataFile(byPath(f.getPath.getParent), f)),
      outside,
      statuses.map(_.getPath).filter(t => TokenFile.isOne(t.getName)),
      getZoneId(session.sessionState.conf.sessionLocalTimeZone))
  }

  /**
   * The partitions that Spark reads from the names of directories. If Spark fails because a data file lies outside of
   * partition directories, the error is ZORDER_FILES_OUTSIDE_PARTITIONS.
   */
  private def partitionSpec(index: AllLeafFiles): PartitionSpec =
    try index.partitionSpec()
    catch {
      case e: Throwable if !e.isInstanceOf[VirtualMachineError] =>
        refuseOutside(index)
        throw e
    }

  private def refuseOutside(index: AllLeafFiles): Unit =
    index.all.filter(TableLister.isData).map(_.getPath).find(f =>
      !isPartition(f.getParent)).foreach { f =>
      throw ZOrderErrors.filesOutsidePartitions(target.name, f.toString)
    }

  private def isPartition(directory: Path): Boolean = directory != root &&
    Iterator.iterate(directory)(_.getParent).takeWhile(_ != root).forall(_.getName.contains("="))

  private def isBelow(ancestor: Path, path: Path): Boolean =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).exists(_ == ancestor)

  private def specText(table: CatalogTable, p: CatalogTablePartition): String =
    table.partitionColumnNames
      .map(c => s"$c=${p.spec.getOrElse(c, p.spec.getOrElse(c.toLowerCase(Locale.ROOT), ""))}")
      .mkString("/")
}

private[sparkzorder] object TableLister {

  /**
   * True for a data file of the table: by the rule of Spark's PartitioningAwareFileIndex its name is not hidden,
   * and the file is no token. (Spark reads a token, too, as a file without rows.)
   */
  def isData(f: FileStatus): Boolean = {
    val name = f.getPath.getName
    !(name.startsWith("_") && !name.contains("=")) && !name.startsWith(".") &&
    !name.endsWith("._COPYING_") && !TokenFile.isOne(name)
  }
}

/**
 * Spark's own listing, with the files that Spark would silently leave out, such as files in nested directories. Only
 * markers are left out: empty files by which old clients of S3, and still those of EMR, represent a directory. A marker
 * lies beside its directory, where it would look like a data file outside of the partitions.
 */
private final class AllLeafFiles(session: Session, paths: Seq[Path], schema: Option[StructType])
    extends InMemoryFileIndex(session, paths, Map.empty, schema) {
  def all: Seq[FileStatus] = leafFiles.values.toSeq

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    super.leafFiles.filterNot(f => isMarker(f._2))

  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    super.leafDirToChildrenFiles.map { case (d, files) => d -> files.filterNot(isMarker) }

  private def isMarker(f: FileStatus): Boolean =
    f.getLen == 0 && f.getPath.getName.endsWith("_$folder$")
}

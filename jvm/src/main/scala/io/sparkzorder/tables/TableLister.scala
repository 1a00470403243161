package io.sparkzorder.tables

import java.util.Locale

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTablePartition}
import org.apache.spark.sql.execution.datasources.{InMemoryFileIndex, PartitionSpec}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors

/** Lists a table's data files as Spark itself would read them, by Spark's own file index. */
final class TableLister(session: Session, target: Target) {
  private val conf = session.sessionState.newHadoopConf()
  private val root = target.root(conf)

  def list(): TableFiles = target match {
    case PathTarget(_) => listRoot(None)
    case CatalogTarget(table) if table.partitionColumnNames.isEmpty => listRoot(Some(table))
    case CatalogTarget(table) if !table.tracksPartitionsInCatalog => listRoot(Some(table))
    case CatalogTarget(table) => listPartitions(table)
  }

  private def listRoot(table: Option[CatalogTable]): TableFiles = {
    val index = fileIndex(Seq(root), table.map(_.partitionSchema).filter(_.nonEmpty))
    val spec = index.partitionSpec()
    val folders =
      if (spec.partitionColumns.isEmpty) IndexedSeq(Folder(0, root, emptyRow))
      else foldersOf(spec)
    val schema = if (spec.partitionColumns.isEmpty) new StructType() else spec.partitionColumns
    table.foreach { t =>
      if (t.partitionColumnNames.nonEmpty && spec.partitionColumns.isEmpty &&
        index.allFiles().nonEmpty) throw ZOrderErrors.filesOutsidePartitions(
        target.name,
        root.toString)
    }
    build(schema, table, folders, allLeafFiles(index), Nil)
  }

  private def listPartitions(table: CatalogTable): TableFiles = {
    val zone = session.sessionState.conf.sessionLocalTimeZone
    val partitions = session.sessionState.catalog.listPartitions(table.identifier)
    val located = partitions.map(p => qualified(new Path(p.location)) -> p)
    val (inside, outside) = located.partition { case (path, _) => isBelow(root, path) }
    val folders = inside.map { case (path, p) => path -> p.toRow(table.partitionSchema, zone) }
      .sortBy(_._1.toString).toIndexedSeq.zipWithIndex
      .map { case ((path, values), i) => Folder(i, path, values) }
    val files =
      if (folders.isEmpty) Nil
      else allLeafFiles(fileIndex(folders.map(_.path), None, noPartitions = true))
    build(
      table.partitionSchema,
      Some(table),
      folders,
      files,
      outside.map { case (path, p) => OutsidePartition(specText(table, p), path.toString) })
  }

  private def build(
      partitionSchema: StructType,
      table: Option[CatalogTable],
      folders: IndexedSeq[Folder],
      statuses: Seq[FileStatus],
      outside: Seq[OutsidePartition]): TableFiles = {
    val byPath = folders.map(f => f.path -> f.ordinal).toMap
    val files = statuses.filter(isData).sortBy(_.getPath.toString).toIndexedSeq
    files.find(f => !byPath.contains(f.getPath.getParent)).foreach { f =>
      throw ZOrderErrors.filesOutsidePartitions(target.name, f.getPath.getParent.toString)
    }
    TableFiles(
      root,
      partitionSchema,
      table.map(_.dataSchema),
      folders,
      files.zipWithIndex.map { case (f, i) => DataFile(i, byPath(f.getPath.getParent), f) },
      outside)
  }

  private def foldersOf(spec: PartitionSpec): IndexedSeq[Folder] =
    spec.partitions.sortBy(_.path.toString).toIndexedSeq.zipWithIndex
      .map { case (p, i) => Folder(i, p.path, p.values) }

  /** Every leaf file below the roots, also those that Spark would silently leave out. */
  private def allLeafFiles(index: InMemoryFileIndex): Seq[FileStatus] =
    new InMemoryFileIndex(
      session,
      index.rootPaths,
      Map("recursiveFileLookup" -> "true"),
      None).allFiles()

  private def fileIndex(
      paths: Seq[Path],
      userSchema: Option[StructType],
      noPartitions: Boolean = false): InMemoryFileIndex =
    new InMemoryFileIndex(
      session,
      paths,
      if (noPartitions) Map("recursiveFileLookup" -> "true") else Map.empty,
      userSchema)

  // Spark leaves out empty files and summary files when it reads
  private def isData(f: FileStatus): Boolean = {
    val name = f.getPath.getName
    !name.startsWith("_") && !name.startsWith(".")
  }

  private def qualified(path: Path): Path = path.getFileSystem(conf).makeQualified(path)

  private def isBelow(ancestor: Path, path: Path): Boolean =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).exists(_ == ancestor)

  private def specText(table: CatalogTable, p: CatalogTablePartition): String =
    table.partitionColumnNames
      .map(c => s"$c=${p.spec.getOrElse(c, p.spec.getOrElse(c.toLowerCase(Locale.ROOT), ""))}")
      .mkString("/")

  private def emptyRow = org.apache.spark.sql.catalyst.InternalRow.empty
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.time.ZoneId
import java.util.{HashMap => JavaHashMap}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, FileSourceConstantMetadataAttribute}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.RelationConf
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{FolderListing, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.snapshot.{ShadowUse, Snapshot}
import io.sparkzorder.table.PartitionNames
import io.sparkzorder.table.PartitionNames.levels
import io.sparkzorder.util.{Directories, Paths}

/**
 * Spark's own listing of a relation, changed to show the result of every committed run of OPTIMIZE.
 *
 * @param delegate Spark's own index of the relation
 * @param roots finds the tables whose files the relation reads
 * @param showsNames true if the query sees the names of the files, so that hidden names would change its result
 */
private final class CommittedOverlay(
    delegate: FileIndex,
    relation: HadoopFsRelation,
    roots: TableRoots,
    settings: RelationConf,
    showsNames: Boolean) {
  private lazy val session = settings.session
  private lazy val options = CaseInsensitiveMap(relation.options)
  private lazy val lostRuns =
    new LostRuns(delegate.rootPaths.map(roots.qualified), settings.hadoop)

  private def isBucketed: Boolean =
    relation.bucketSpec.isDefined && session.sessionState.conf.bucketingEnabled

  /**
   * The listing for one scan.
   *
   * @param partitionFilters filters on partition columns. Neither these nor `dataFilters` have subqueries
   * @param execution the listings of the query's execution, which all its scans share; None outside of an
   *   execution
   */
  def listing(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression],
      execution: Option[ListingsOfExecution] = None): ScanListing =
    delegate match {
      // CatalogFileIndex.listFiles makes the same index of the chosen partitions, but does not return it
      case catalog: CatalogFileIndex =>
        overlaid(catalog.filterPartitions(partitionFilters), Nil, dataFilters, None)
      case listed: InMemoryFileIndex => overlaid(listed, partitionFilters, dataFilters, execution)
      case other => ScanListing.of(other.listFiles(partitionFilters, dataFilters))
    }

  private def overlaid(
      index: InMemoryFileIndex,
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression],
      execution: Option[ListingsOfExecution]): ScanListing = {
    // Filters on _metadata would remove files from the listing, but the overlay needs all files.
    // Spark applies these filters again after the scan.
    val onFiles = dataFilters.exists(_.references.exists {
      case FileSourceConstantMetadataAttribute(_) => true
      case _ => false
    })
    // the files must be listed before the records are read: see Snapshot
    val held = execution.fold(HeldListing.of(index))(_.held(index))
    val chosen = held.chosen(held.partitions.partitionColumns, partitionFilters)
    val listed = ScanListing.of(held, chosen)
    val logs = roots.states(index).flatMap(s => CommittedOverlay.logOf(s).map(s -> _))
    val changed = logs.foldLeft(listed) { case (files, (state, log)) =>
      val upTo = execution.map(_.newestOf(state.root, log.last))
      // If another scan of the execution has read a newer record first, this log may lack a run that the other scan
      // applies. Then the overlay reads the records again.
      if (!upTo.exists(_ > log.last) && held.isUnchangedBy(state, log)) files
      else overlayOf(held, index, files, partitionFilters, onFiles || showsNames).over(
        state,
        upTo) match {
        case Some(other) =>
          if (showsNames) requireFinalNames(other)
          ScanListing.of(other)
        case None =>
          // If the records are known to change nothing in a listing, later queries need not compare its files with the
          // records. To find this out costs one comparison of all files, so a listing of a single query is left out.
          if (held.isUsedAgain) {
            held.noteIfUnchangedBy(state, overlayOf(held, index, held.all, Nil, onFiles = false))
          }
          files
      }
    }
    execution.foreach(_.recordsAreRead())
    lostRuns.check(held.tokensIn(chosen), logs.map(_._2))
    if ((changed ne listed) && isBucketed) {
      throw ZOrderErrors.bucketsUnknown(delegate.rootPaths.mkString(", "))
    }
    if ((changed eq listed) && onFiles && held.isListedBy(index)) {
      ScanListing.of(index.listFiles(partitionFilters, dataFilters))
    } else changed
  }

  /** Fails if a run that is not published yet would show the hidden name of a file. */
  private def requireFinalNames(directories: Seq[PartitionDirectory]): Unit =
    directories.iterator.flatMap(_.files.iterator).map(_.getPath.getParent)
      .find(d => RunFolder.runOf(d.getName).isDefined).foreach { hidden =>
        throw ZOrderErrors.listingIncomplete(
          hidden.getParent.toString,
          "the query uses the names of files, and some new files do not have their names yet. Run the query " +
            "again. If OPTIMIZE is not running, first run RECOVER LAYOUT")
      }

  /** The committed runs over the listed files; not applied yet. */
  private def overlayOf(
      held: HeldListing,
      index: InMemoryFileIndex,
      files: ScanListing,
      partitionFilters: Seq[Expression],
      onFiles: Boolean): OverlaidListing = new OverlaidListing(
    held.partitions,
    files.directories,
    covered(held.partitions, index, partitionFilters, files.directories),
    selected,
    shadowsOf(_, onFiles))

  /**
   * A shadow replaces listed files only if the query needs nothing but rows. Options, columns and filters on the
   * names or times of files refer to the listed files, and Spark reads the number of a bucket from the name of
   * its file.
   */
  private def shadowsOf(state: StateDirectory, onFiles: Boolean): ShadowUse =
    if (onFiles || isBucketed || !selected.isAll) ShadowUse.Off
    // with this setting, Spark would silently leave out the rows of a hidden file that another program deleted
    else if (settings.ignoresMissingFiles) ShadowUse.Checked
    else ShadowUse.of(state)

  private def covered(
      partitions: PartitionSpec,
      index: InMemoryFileIndex,
      partitionFilters: Seq[Expression],
      listed: Seq[PartitionDirectory]) = new CoveredFolders(
    index.rootPaths.map(roots.qualified).toSet,
    partitions,
    options.get("basePath").map(b => roots.qualified(new Path(b))),
    options.get("recursiveFileLookup").exists(_.toBoolean),
    getZoneId(options.getOrElse("timeZone", session.sessionState.conf.sessionLocalTimeZone)),
    partitionFilters,
    listed.exists(_.files.nonEmpty))

  private lazy val selected = new SelectedFiles(options)
}

private object CommittedOverlay extends Logging {
  private val Warned = ConcurrentHashMap.newKeySet[Path]()
  private val MaxWarned = 1000

  private def mayList(state: StateDirectory): Boolean =
    try {
      state.files(state.commits)
      true
    } catch { case e if Directories.isDenied(e) => false }

  /**
   * The records of a table. None if this user may not list them: then a query reads what readers without the extension
   * read. On an object store, a user may not even be allowed to ask whether a table has records.
   */
  def logOf(state: StateDirectory): Option[TableLog] =
    try Some(TableLog.read(state))
    catch {
      // To pass over a single file could hide rows, so only the listing counts.
      case e if Directories.isDenied(e) && mayList(state) =>
        throw ZOrderErrors.stateUnreadable(
          state.commits.toString,
          s"this user may not read a file in it ($e)")
      case e if Directories.isDenied(e) =>
        if (Warned.size < MaxWarned && Warned.add(state.root)) {
          logWarning(
            s"this user may not list ${state.commits}, so queries read ${state.root} as if OPTIMIZE had not run: $e")
        }
        None
    }
}

/** Groups the files of Spark's listing by folder, and applies committed runs to them. */
private final class OverlaidListing(
    partitions: PartitionSpec,
    listed: Seq[PartitionDirectory],
    covered: CoveredFolders,
    selected: SelectedFiles,
    shadows: StateDirectory => ShadowUse)
    extends FolderListing {

  private val partitioned = partitions.partitionColumns.nonEmpty

  // The listing has one PartitionDirectory for each partition. Without partitions, one PartitionDirectory has the
  // files of all folders. A folder has several entries in this map if its files are read several times: two
  // partitions of a catalog may lie in one folder, and a query may name a path twice.
  private lazy val directories: JavaHashMap[Path, Seq[PartitionDirectory]] = {
    val map = new JavaHashMap[Path, Seq[PartitionDirectory]]
    def add(folder: Path, d: PartitionDirectory) =
      map.merge(folder, Seq(d), (before, more) => before ++ more)
    listed.filter(_.files.nonEmpty).foreach { d =>
      if (partitioned) add(d.files.head.getPath.getParent, d)
      else {
        d.files.groupBy(_.getPath.getParent).foreach { case (folder, files) =>
          readings(files).foreach(some => add(folder, d.copy(files = some)))
        }
      }
    }
    map
  }

  /** The files of a folder, once for each time that the folder is read. */
  private def readings(files: Seq[FileStatusWithMetadata]): Seq[Seq[FileStatusWithMetadata]] = {
    val byName = files.groupBy(_.getPath.getName)
    val times = byName.valuesIterator.map(_.size).max
    if (times == 1) Seq(files) else (0 until times).map(i => byName.values.flatMap(_.lift(i)).toSeq)
  }
  private val known = mutable.HashMap.empty[Path, Option[Map[String, FileStatus]]]

  override def files(folder: Path): Option[Map[String, FileStatus]] =
    known.getOrElseUpdate(
      folder,
      Option(directories.get(folder)) match {
        // A query may read a folder by one path, and a single file of this folder by another path. Then the
        // folder has two entries with different files, and None says that a run cannot be applied to them.
        case Some(all)
            if covered.isBelowRoot(folder) && all.tail.forall(namesOf(_) == namesOf(all.head)) =>
          Some(all.head.files.map(f => f.getPath.getName -> f.fileStatus).toMap)
        case None if covered.covers(folder) => Some(Map.empty)
        case _ => None
      })

  private def namesOf(d: PartitionDirectory): Set[String] = d.files.map(_.getPath.getName).toSet

  override def inOrder(folder: Path): Option[Iterator[FileStatus]] = {
    val directory =
      if (partitioned) {
        Option(directories.get(folder)).filter(_ => covered.isBelowRoot(folder)).map(_.head)
      } else if (covered.isAllOf(folder) && listed.size == 1) listed.headOption
      else None
    directory.map(_.files.iterator.map(_.fileStatus))
  }

  /**
   * The listing with the runs of one table applied; None if the runs change nothing.
   *
   * @param upTo the number of the newest record that may add rows that were not listed. A later run counts only if
   *   all files that it replaced are listed. None if all runs count
   */
  def over(state: StateDirectory, upTo: Option[Long]): Option[Seq[PartitionDirectory]] = {
    val changed = Snapshot.of(state, this, shadows(state), upTo)
    if (changed.isEmpty) None
    else {
      lazy val log = TableLog.read(state)
      val kept = if (partitioned) {
        listed.filterNot(_.files.headOption.exists(f => changed.contains(f.getPath.getParent)))
      } else {
        listed.map(d =>
          d.copy(files = d.files.filterNot(f =>
            changed.contains(f.getPath.getParent))))
      }
      Some(kept ++ changed.flatMap { case (folder, now) =>
        lazy val changes = log.changesTo(Paths.relative(state.root, folder), now.keySet)
        directory(folder, selected.of(folder, changes, files(folder).getOrElse(Map.empty), now))
      })
    }
  }

  private def directory(
      folder: Path,
      files: Map[String, FileStatus]): Seq[PartitionDirectory] = {
    val values =
      Option(directories.get(folder)).map(_.map(_.values)).getOrElse(covered.valuesOf(folder))
    val all = files.toSeq.sortBy(_._1).map(_._2).toArray
    values.map(v => PartitionDirectory(v, all))
  }
}

/**
 * Tells which folders a query covers although its listing does not show them. Such a folder had no visible file
 * when the listing was made. With a file in it, a new listing of the query's paths would show the folder.
 *
 * @param roots qualified directories that are read
 * @param spec partitions of the listing, including partitions that the filters leave out
 * @param base the directory below which Spark reads partition values from directory names, if the user has set it
 * @param recursive true if the read takes the files of all directories below the roots, without partition values
 * @param zone the time zone in which directory names are parsed as partition values
 * @param filters the partition filters of the query
 * @param anyFile true when the listing has at least one data file
 */
private[sparkzorder] final class CoveredFolders(
    roots: Set[Path],
    spec: PartitionSpec,
    base: Option[Path],
    recursive: Boolean,
    zone: ZoneId,
    filters: Seq[Expression],
    anyFile: => Boolean) {
  private val columns: StructType = spec.partitionColumns
  // two partitions of a catalog may lie in one folder
  private lazy val listed: Map[Path, Seq[InternalRow]] =
    spec.partitions.groupBy(_.path).map { case (path, same) => path -> same.map(_.values) }

  /**
   * True when the query reads the files of a folder, judged by its name and, if listed, its partition
   * values.
   */
  def covers(folder: Path): Boolean = rootOf(folder).exists { root =>
    if (recursive) true
    else if (columns.nonEmpty) {
      listed.get(folder).map(_.exists(passes)).getOrElse(segments(root, folder).isDefined)
    } else folder == root || (!anyFile && levels(root, folder).forall(_.contains('=')))
  }

  /** True when the read names the folder, or a directory above it, rather than single files. */
  def isBelowRoot(folder: Path): Boolean = rootOf(folder).isDefined

  /** True when a listing without partitions has the files of this one directory and no others. */
  def isAllOf(folder: Path): Boolean = !recursive && columns.isEmpty && roots == Set(folder)

  /**
   * Partition values of a covered folder, once for each partition that lies there; none when the filters leave
   * the folder out.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when the values do not
   *   fit the schema that Spark has read from the names of the other folders
   */
  def valuesOf(folder: Path): Seq[InternalRow] =
    if (recursive) Seq(InternalRow.empty)
    else {
      val root = rootOf(folder).get
      if (columns.nonEmpty) listed.getOrElse(folder, Seq(parse(root, folder))).filter(passes)
      else if (levels(base.getOrElse(root), folder).exists(_.contains('='))) {
        throw ZOrderErrors.listingIncomplete(
          folder.toString,
          "without them no partition column was found")
      } else Seq(InternalRow.empty)
    }

  private def parse(root: Path, folder: Path): InternalRow =
    PartitionNames.values(columns, segments(root, folder).get, folder, zone)

  /** Raw values of the partition columns, if the directories are named by exactly these columns. */
  private def segments(root: Path, folder: Path): Option[Seq[String]] =
    PartitionNames.texts(columns, base.getOrElse(root), folder)

  private def rootOf(folder: Path): Option[Path] =
    Iterator.iterate(folder)(_.getParent).takeWhile(_ != null).find(roots.contains)

  private lazy val passes: InternalRow => Boolean =
    PartitionFilters.test(columns, filters).getOrElse((_: InternalRow) => true)
}

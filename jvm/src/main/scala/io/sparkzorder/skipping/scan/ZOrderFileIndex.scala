package io.sparkzorder.skipping.scan

import java.util.{HashMap => JavaHashMap}

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  FileSourceConstantMetadataAttribute,
  PlanExpression
}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.log.snapshot.{FolderListing, Overlay, StateSearch}
import io.sparkzorder.skipping.predicate.FileJudge

/**
 * The files of a relation as readers with the extension see them: Spark's own listing with committed
 * runs of OPTIMIZE laid over it, then narrowed to the files that may hold matching rows. Everything
 * else is the relation's own index.
 *
 * @param delegate Spark's own index of the relation
 * @param table the catalog's entry, whose location spares a look at each partition directory
 * @param narrowing gives for data filters what judges each file, if they narrow anything: the place of
 *   the skipping index; must not let a file go that it does not know
 */
final class ZOrderFileIndex private[sparkzorder] (
    val delegate: FileIndex,
    relation: HadoopFsRelation,
    table: Option[CatalogTable],
    settings: RelationConf,
    narrowing: Seq[Expression] => Option[FileJudge] = _ => None)
    extends FileIndex {

  private lazy val session = settings.session
  private lazy val options = CaseInsensitiveMap(relation.options)
  private lazy val conf = settings.hadoop

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    judged(partitionFilters, dataFilters).directories

  /**
   * The listing for the filters of a scan, made once in one execution of a query: Spark describes the
   * plan when it starts, which shows the numbers, and lists when it comes to the scan. For a bucketed
   * relation it is made once for all: whether its files are sorted is decided by a listing, while the
   * query is planned, and they must still be when another copy of the scan reads them.
   */
  private[sparkzorder] def judged(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): JudgedListing = {
    val asked = Asked(evaluable(partitionFilters), evaluable(dataFilters))
    val now = execution
    last.filter(a => a._1 == asked && (isBucketed || (now.isDefined && a._2 == now))).map(_._3)
      .getOrElse {
        val made =
          JudgedListing.of(
            overlaid(asked.partitionFilters, asked.dataFilters),
            narrowing(asked.dataFilters))
        last = Some((asked, now, made))
        made
      }
  }

  /** Every file that is listed for some filters, also those in which no row can match. */
  private[sparkzorder] def unnarrowed(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    overlaid(evaluable(partitionFilters), evaluable(dataFilters))

  /** The numbers of the listing that was made for some filters, if one was. */
  private[sparkzorder] def knownNumbers(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Option[SkippingNumbers] =
    last.filter(_._1 == Asked(evaluable(partitionFilters), evaluable(dataFilters)))
      .flatMap(_._3.numbers)

  /**
   * The numbers for some filters. A listing that Spark has in memory already is judged for them; one
   * that Spark itself would not make to explain a query is not made for them either.
   */
  private[sparkzorder] def numbers(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Option[SkippingNumbers] =
    if (evaluable(dataFilters).isEmpty) None
    else if (delegate.isInstanceOf[InMemoryFileIndex]) judged(partitionFilters, dataFilters).numbers
    else knownNumbers(partitionFilters, dataFilters)

  private case class Asked(partitionFilters: Seq[Expression], dataFilters: Seq[Expression])
  // with the execution that it was made in
  @volatile private var last: Option[(Asked, Option[String], JudgedListing)] = None

  private def execution: Option[String] =
    Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))

  /** Filters with a subquery have no value while files are listed. */
  private def evaluable(filters: Seq[Expression]): Seq[Expression] =
    filters.filterNot(ZOrderFileIndex.holdsSubquery)

  private def isBucketed: Boolean =
    relation.bucketSpec.isDefined && session.sessionState.conf.bucketingEnabled

  private def overlaid(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = delegate match {
    // as it does itself, but with the partitions at hand
    case catalog: CatalogFileIndex =>
      overlaid(catalog.filterPartitions(partitionFilters), Nil, dataFilters)
    case listed: InMemoryFileIndex => overlaid(listed, partitionFilters, dataFilters)
    case other => other.listFiles(partitionFilters, dataFilters)
  }

  private def overlaid(
      index: InMemoryFileIndex,
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    // filters on _metadata thin out the listing; Spark applies them once more after the scan
    val onFiles = dataFilters.exists(_.references.exists {
      case FileSourceConstantMetadataAttribute(_) => true
      case _ => false
    })
    // listed before anything is known of the state: see Overlay
    val listed = index.listFiles(partitionFilters, if (onFiles) Nil else dataFilters)
    val roots = searchFrom(index).filter(mayHaveState)
    val changed = StateSearch.above(roots, conf).foldLeft(listed) { (files, state) =>
      new OverlaidListing(index, files, covered(index, partitionFilters, files), accepts)
        .over(state)
    }
    if ((changed ne listed) && isBucketed) {
      throw ZOrderErrors.bucketsUnknown(rootPaths.mkString(", "))
    }
    if ((changed eq listed) && onFiles) index.listFiles(partitionFilters, dataFilters) else changed
  }

  /** Directories above which the state may lie: not every partition of a table of the catalog. */
  private def searchFrom(index: InMemoryFileIndex): Seq[Path] =
    table.flatMap(_.storage.locationUri).map(new Path(_)) match {
      case Some(location) =>
        val home = qualified(location)
        home +: index.rootPaths.map(qualified).filterNot(r =>
          r == home || r.getParent == home ||
            Iterator.iterate(r)(_.getParent).takeWhile(_ != null).contains(home))
      case None => index.rootPaths
    }

  // on object stores each look is a request of its own, and OPTIMIZE renames nothing there
  private def mayHaveState(directory: Path): Boolean = {
    val scheme = Option(directory.toUri.getScheme).getOrElse("file")
    !ZOrderFileIndex.objectStores(scheme) || session.sessionState.conf
      .getConfString(Settings.InPlaceSchemes.sessionKey, "").split(',').map(_.trim).contains(scheme)
  }

  private def covered(
      index: InMemoryFileIndex,
      filters: Seq[Expression],
      listed: Seq[PartitionDirectory]) = new CoveredFolders(
    index.rootPaths.map(qualified).toSet,
    index.partitionSpec(),
    options.get("basePath").map(b => qualified(new Path(b))),
    options.get("recursiveFileLookup").exists(_.toBoolean),
    getZoneId(options.getOrElse("timeZone", session.sessionState.conf.sessionLocalTimeZone)),
    filters,
    listed.exists(_.files.nonEmpty))

  private lazy val accepts: FileStatus => Boolean = {
    val filters = PathFilterFactory.create(options)
    file => filters.forall(_.accept(file))
  }

  private def qualified(path: Path): Path = path.getFileSystem(conf).makeQualified(path)

  override def rootPaths: Seq[Path] = delegate.rootPaths
  override def partitionSchema: StructType = delegate.partitionSchema
  override def inputFiles: Array[String] = delegate.inputFiles
  override def sizeInBytes: Long = delegate.sizeInBytes
  override def metadataOpsTimeNs: Option[Long] = delegate.metadataOpsTimeNs
  override def refresh(): Unit = delegate.refresh()
  override def toString: String = delegate.toString

  // two scans of one relation are one exchange
  override def equals(other: Any): Boolean = other match {
    case that: ZOrderFileIndex => delegate == that.delegate
    case _ => false
  }
  override def hashCode(): Int = delegate.hashCode()
}

private[sparkzorder] object ZOrderFileIndex {

  /** Whether a filter waits for a subquery, as those of dynamic partition pruning do. */
  def holdsSubquery(filter: Expression): Boolean = filter.exists(_.isInstanceOf[PlanExpression[_]])

  val objectStores: Set[String] =
    Set("s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs", "tos", "swift", "wasb", "wasbs")
}

/** A listing of Spark's, by folder. */
private final class OverlaidListing(
    index: InMemoryFileIndex,
    listed: Seq[PartitionDirectory],
    covered: CoveredFolders,
    accepts: FileStatus => Boolean)
    extends FolderListing {

  private val partitioned = index.partitionSpec().partitionColumns.nonEmpty

  // Spark lists a partition as one directory; without partitions, all files are together
  private lazy val directories: JavaHashMap[Path, PartitionDirectory] = {
    val map = new JavaHashMap[Path, PartitionDirectory]
    listed.filter(_.files.nonEmpty).foreach { d =>
      if (partitioned) map.put(d.files.head.getPath.getParent, d)
      else {
        d.files.groupBy(_.getPath.getParent)
          .foreach { case (folder, files) => map.put(folder, d.copy(files = files)) }
      }
    }
    map
  }
  private val known = mutable.HashMap.empty[Path, Option[Map[String, FileStatus]]]

  override def files(folder: Path): Option[Map[String, FileStatus]] =
    known.getOrElseUpdate(
      folder,
      Option(directories.get(folder)) match {
        case Some(d) if covered.isBelowRoot(folder) =>
          Some(d.files.map(f => f.getPath.getName -> f.fileStatus).toMap)
        case None if covered.covers(folder) => Some(Map.empty)
        case _ => None
      })

  override def inOrder(folder: Path): Option[Iterator[FileStatus]] = {
    val directory =
      if (partitioned) Option(directories.get(folder)).filter(_ => covered.isBelowRoot(folder))
      else if (covered.isAllOf(folder) && listed.size == 1) listed.headOption
      else None
    directory.map(_.files.iterator.map(_.fileStatus))
  }

  /** The listing with the runs of one table laid over; the same object when it was right. */
  def over(state: StateDirectory): Seq[PartitionDirectory] = {
    val changed = new Overlay(state).over(this)
    if (changed.isEmpty) listed
    else {
      val kept = if (partitioned) {
        listed.filterNot(_.files.headOption.exists(f => changed.contains(f.getPath.getParent)))
      } else {
        listed.map(d =>
          d.copy(files = d.files.filterNot(f =>
            changed.contains(f.getPath.getParent))))
      }
      kept ++ changed.flatMap { case (folder, files) => directory(folder, files) }
    }
  }

  private def directory(
      folder: Path,
      files: Map[String, FileStatus]): Option[PartitionDirectory] = {
    val values =
      Option(directories.get(folder)).map(_.values).orElse(covered.valuesOf(folder))
    // options choose files by their final names
    val accepted = files.toSeq.sortBy(_._1).collect {
      case (name, file) if accepts(named(file, new Path(folder, new Path(null, null, name)))) =>
        file
    }
    values.map(v => PartitionDirectory(v, accepted.toArray))
  }

  private def named(file: FileStatus, path: Path): FileStatus =
    if (file.getPath == path) file
    else {
      new FileStatus(
        file.getLen,
        false,
        file.getReplication.toInt,
        file.getBlockSize,
        file.getModificationTime,
        path)
    }
}

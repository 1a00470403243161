// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.iceberg.{BaseTable, IcebergBuild, Snapshot, SnapshotRef, StaticTableOperations}
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.spark.SparkSchemaUtil
import org.apache.iceberg.spark.source.SparkTable

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.skipping.scan.FormatTable
import io.sparkzorder.sources.{FormatOpener, FormatScan, KnownReleases, SnapshotFormat}
import io.sparkzorder.util.Paths

/** Opens Iceberg tables. Loaded by its name, when a session meets an Iceberg table. */
private[sparkzorder] final class IcebergTables extends FormatOpener with Logging {
  import IcebergTables._

  override def open(table: Table, name: String, identifier: String): Option[SnapshotFormat] =
    if (isFit(name)) Some(own(table, name, identifier)) else None

  // Only for tables in a directory, without a catalog that knows the current file. `HadoopTables` finds metadata whose
  // files are named by version, as v1.metadata.json.
  override def openPath(path: String, name: String, conf: Configuration): Option[SnapshotFormat] =
    if (!isFit(name) || !hasAtomicRename(path, conf)) None
    else {
      try {
        if (hasCatalog(path, conf)) None
        else new HadoopTables(conf).load(path) match {
          case t: BaseTable => Some(new IcebergFormat(t, name, isNamed = false))
          case _ => None
        }
      }
      // Then the caller refuses the directory, as any directory with the metadata of a table.
      catch { case NonFatal(_) => None }
    }

  override def scan(leaf: LogicalPlan): Option[FormatScan] = leaf match {
    case BatchScan(s, t, base) if isCurrent(t, base) => Some(new IcebergScan(base, s.relation.name))
    case _ => None
  }

  override def skipping(leaf: LogicalPlan): Option[FormatTable] = leaf match {
    case BatchScan(s, t, base) if isOwn(base) =>
      snapshotOf(t, base).map(new IcebergSkipping(s, base, _))
    case _ => None
  }

  override def takesRanges(leaf: LogicalPlan): Boolean = leaf match {
    case r: DataSourceV2Relation if isKnown(IcebergBuild.version()) =>
      baseOf(r.table).exists { case (_, base) => isOwn(base) }
    case _ => false
  }

  private def isOwn(base: BaseTable): Boolean =
    Settings.resolve(
      Settings.SkippingIceberg,
      base.properties.asScala.toMap) == Settings.FormatOwn

  /** The snapshot that the scan most likely reads. Files that this snapshot does not have are not pruned. */
  private def snapshotOf(t: SparkTable, base: BaseTable): Option[Snapshot] =
    Option(t.snapshotId).map(id => base.snapshot(id.longValue))
      .orElse(Option(t.branch).map(base.snapshot))
      .orElse(Some(base.currentSnapshot)).filter(_ != null)

  // some versions pin the current snapshot of a table when they load the table
  private def isCurrent(t: SparkTable, base: BaseTable): Boolean =
    Option(t.branch).forall(_ == SnapshotRef.MAIN_BRANCH) &&
      Option(t.snapshotId).forall(id =>
        Option(base.currentSnapshot).exists(_.snapshotId == id.longValue))

  // on other file systems, a commit needs the lock that is configured for the table's catalog
  private def hasAtomicRename(path: String, conf: Configuration): Boolean =
    Set("file", "hdfs")(new Path(path).getFileSystem(conf).getUri.getScheme)

  /**
   * True if a catalog commits to the table in the directory. If the table was registered in a catalog, the metadata
   * that `HadoopTables` finds are those from before.
   */
  private def hasCatalog(path: String, conf: Configuration): Boolean = {
    val metadata = new Path(path, "metadata")
    metadata.getFileSystem(conf).listStatus(metadata).map(_.getPath.getName)
      .filter(n => n.contains(".metadata.json") && !n.startsWith("."))
      .exists(withoutCatalog.findFirstIn(_).isEmpty)
  }

  private def isFit(name: String): Boolean = {
    val version = IcebergBuild.version()
    if (!isKnown(version)) {
      logWarning(s"$name is left to Iceberg's own statements: its version is $version, and " +
        s"spark-zorder knows $known")
    }
    isKnown(version)
  }

  private def own(table: Table, name: String, identifier: String): SnapshotFormat = table match {
    case t: SparkTable =>
      val inner = t.table match {
        case base: BaseTable => base
        case _ => refuse(name, "a metadata table of Iceberg", "Name the table itself.")
      }
      if (Option(t.branch).exists(_ != SnapshotRef.MAIN_BRANCH)) {
        refuse(name, s"the branch ${t.branch} of an Iceberg table", OnlyMain)
      }
      // a name like a selector may also be the real name of a table: then Iceberg's table has this name
      if (selector.findFirstIn(identifier).isDefined && !inner.name.endsWith(s".$identifier")) {
        refuse(name, "an older state or a branch of an Iceberg table", OnlyMain)
      }
      new IcebergFormat(inner, name, isNamed = true)
    case _ => refuse(name, "a view of an Iceberg table's changes", "Name the table itself.")
  }

  private def refuse(name: String, kind: String, advice: String): Nothing =
    throw ZOrderErrors.unsupportedTable(name, kind, advice)
}

/** A scan of an Iceberg table. */
private final class IcebergScan(table: BaseTable, name: String)
    extends FormatScan(
      table.location,
      table.properties.asScala.toMap,
      Settings.FormatsIceberg) {

  // a table of format version 1 may have no UUID
  override def id: String = Option(table.operations.current.uuid).getOrElse(location)

  override def schema: StructType = SparkSchemaUtil.convert(table.schema)

  // Iceberg takes filters on partitions out of the plan, so the share is not known
  override def share: Double = 1.0

  /** A copy of the table that does not change: the session's queries use the table itself. */
  override def open(): Option[SnapshotFormat] = {
    val operations = new StaticTableOperations(table.operations.current, table.io)
    Some(new IcebergFormat(new BaseTable(operations, table.name), name, isNamed = true))
  }
}

private object IcebergTables {

  /**
   * Matches the scan of a batch query, with its table. Does not match scans of a stream, of changes, of a rewrite,
   * or of a state that an option names.
   */
  private object BatchScan {
    def unapply(leaf: LogicalPlan): Option[(DataSourceV2ScanRelation, SparkTable, BaseTable)] =
      leaf match {
        case s: DataSourceV2ScanRelation
            if isKnown(IcebergBuild.version()) &&
              s.scan.getClass.getSimpleName == "SparkBatchQueryScan" &&
              !OtherStates.exists(s.relation.options.containsKey) =>
          baseOf(s.relation.table).map { case (t, base) => (s, t, base) }
        case _ => None
      }
  }

  private def baseOf(table: Table): Option[(SparkTable, BaseTable)] = table match {
    case t: SparkTable => Some(t.table).collect { case base: BaseTable => (t, base) }
    case _ => None
  }

  private val OnlyMain = "OPTIMIZE rewrites the current state of the branch main only."

  /** Options of a read of another state than the current one of the branch main. */
  private val OtherStates = Seq(
    "snapshot-id",
    "as-of-timestamp",
    "branch",
    "tag",
    "start-snapshot-id",
    "end-snapshot-id",
    "start-timestamp",
    "end-timestamp")

  // a last name part that begins like this chooses a branch or an older state in Iceberg's catalogs
  private val selector = "^(branch_|tag_|snapshot_id_|at_timestamp_)".r

  // The names of metadata in a table without a catalog: `v1.metadata.json`, also with the suffix of a codec, and the
  // random name that a commit which was killed leaves. Catalogs write `00001-<random>.metadata.json`.
  private val withoutCatalog =
    raw"^(v\d+|${Paths.Uuid})(\.\w+)?\.metadata\.json(\.\w+)?$$".r

  private val known = new KnownReleases("1.10", "1.11", "1.12")

  def isKnown(version: String): Boolean = known.contains(version)
}

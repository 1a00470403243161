// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.delta.{DeltaLog, Snapshot}
import org.apache.spark.sql.delta.actions.Metadata
import org.apache.spark.sql.delta.catalog.DeltaTableV2
import org.apache.spark.sql.delta.files.{TahoeFileIndex, TahoeLogFileIndex}
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings
import io.sparkzorder.skipping.scan.FormatTable
import io.sparkzorder.sources.{FormatOpener, FormatScan, KnownReleases, SnapshotFormat}

/** Opens Delta tables. Loaded by its name, when a session meets a Delta table. */
private[sparkzorder] final class DeltaTables extends FormatOpener with Logging {
  import DeltaTables._

  override def open(table: Table, name: String, identifier: String): Option[SnapshotFormat] =
    if (!isFit(name)) None
    else {
      table match {
        case t: DeltaTableV2 if isWhole(t) =>
          Some(new DeltaFormat(t.deltaLog, t.catalogTable, name, isNamed = true)).filter(isOurs)
        case _ => leave(name, "it is a part, an older state or another view of the table")
      }
    }

  override def openPath(path: String, name: String, conf: Configuration): Option[SnapshotFormat] =
    if (!isFit(name)) None
    else {
      val log = DeltaLog.forTable(SparkSession.active, new Path(path))
      if (log.update().version < 0) None
      else Some(new DeltaFormat(log, None, name, isNamed = false)).filter(isOurs)
    }

  override def scan(leaf: LogicalPlan): Option[FormatScan] = leaf match {
    case DeltaLeaf(l, r, i: PreparedDeltaFileIndex) if i.versionScanned.isEmpty =>
      Some(new DeltaScanOfQuery(i, l.catalogTable, r.dataSchema, shareOf(i)))
    case DeltaLeaf(l, r, i: TahoeLogFileIndex) if !i.isTimeTravelQuery =>
      Some(new DeltaScanOfQuery(i, l.catalogTable, r.dataSchema, share = 1.0))
    case _ => None
  }

  override def skipping(leaf: LogicalPlan): Option[FormatTable] = leaf match {
    case DeltaLeaf(l, r, i: PreparedDeltaFileIndex) if !l.isStreaming && hasExtension && isOwn(i) =>
      val name = l.catalogTable.fold(i.deltaLog.dataPath.toString)(_.identifier.quotedString)
      Some(new DeltaSkipping(i, r.partitionSchema, name))
    case _ => None
  }

  override def takesRanges(leaf: LogicalPlan): Boolean = leaf match {
    case DeltaLeaf(l, _, i @ (_: PreparedDeltaFileIndex | _: TahoeLogFileIndex)) =>
      !l.isStreaming && isOwn(i) && !generatesPartitions(i)
    case _ => false
  }

  /**
   * True if partition columns are generated from other columns. From a range of `ts`, Delta would derive a
   * filter on `day GENERATED ALWAYS AS (CAST(ts AS DATE))`. This filter may lose rows, because the day of a row
   * is the day in the time zone of its writer.
   */
  private def generatesPartitions(index: TahoeFileIndex): Boolean = {
    val partitioned = index.metadata.partitionColumns.toSet
    index.metadata.schema.exists(f =>
      partitioned(f.name) && f.metadata.contains("delta.generationExpression"))
  }

  private def isOwn(index: TahoeFileIndex): Boolean =
    Settings.resolve(Settings.SkippingDelta, index.metadata.configuration) == Settings.FormatOwn

  private def shareOf(index: PreparedDeltaFileIndex): Double = {
    val scan = index.preparedScan
    val share = for {
      chosen <- scan.partition.bytesCompressed
      all <- scan.total.bytesCompressed if all > 0
    } yield math.min(1.0, chosen.toDouble / all)
    share.getOrElse(1.0)
  }

  override def lastColumns(path: Path): Seq[Seq[String]] =
    if (!isKnown(io.delta.VERSION)) Nil
    else {
      val log = DeltaLog.forTable(SparkSession.active, path)
      DeltaLayouts.lastLayout(log.update()).map(_.columns)
        .getOrElse(DeltaLayouts.columnsOfHistory(log))
    }

  private def isWhole(t: DeltaTableV2): Boolean = {
    // A path may end with a version (`t@v1`) or a partition (`t/p=1`). Delta takes the path apart only when Delta reads
    // the state. Until then, such a path differs from the path of the log.
    val hasSuffix = t.catalogTable.isEmpty && t.path.toString != t.deltaLog.dataPath.toString &&
      t.path.getFileSystem(t.deltaLog.newDeltaHadoopConf()).makeQualified(t.path) !=
      t.deltaLog.dataPath
    t.timeTravelOpt.isEmpty && !t.hasPartitionFilters && !hasSuffix
  }

  private def isFit(name: String): Boolean = {
    val version = io.delta.VERSION
    val reason =
      if (!isKnown(version)) {
        Some(s"the version of Delta is $version, and spark-zorder knows $known")
      } else if (!hasExtension) Some("the session does not have Delta's extension")
      else None
    reason.foreach(leave(name, _))
    reason.isEmpty
  }

  private def isOurs(format: DeltaFormat): Boolean = {
    val reason = obstacle(format.current)
    reason.foreach {
      // not a warning: CLUSTER BY asks for Delta's own layout
      case Clustered => logInfo(s"OPTIMIZE of ${format.name} is left to Delta: $Clustered")
      case other => leave(format.name, other)
    }
    reason.isEmpty
  }

  private def leave(name: String, reason: String): Option[SnapshotFormat] = {
    logWarning(s"OPTIMIZE of $name is left to Delta: $reason")
    None
  }
}

/** A leaf that scans a Delta table, with its relation and its file index. */
private object DeltaLeaf {
  def unapply(leaf: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation, TahoeFileIndex)] =
    leaf match {
      case l: LogicalRelation if DeltaTables.isKnown(io.delta.VERSION) =>
        l.relation match {
          case r: HadoopFsRelation => Some(r.location).collect { case i: TahoeFileIndex =>
              (l, r, i)
            }
          case _ => None
        }
      case _ => None
    }
}

/** A scan of a Delta table. */
private final class DeltaScanOfQuery private (
    log: DeltaLog,
    metadata: Metadata,
    catalogTable: Option[CatalogTable],
    override val schema: StructType,
    override val share: Double)
    extends FormatScan(log.dataPath.toString, metadata.configuration, Settings.FormatsDelta) {

  def this(
      index: TahoeFileIndex,
      catalogTable: Option[CatalogTable],
      schema: StructType,
      share: Double) = this(index.deltaLog, index.metadata, catalogTable, schema, share)

  override def id: String = metadata.id

  override def open(): Option[SnapshotFormat] = {
    val name = catalogTable
      .fold(s"delta.${quoteIdentifier(location)}")(_.identifier.quotedString)
    Some(new DeltaFormat(log, catalogTable, name, isNamed = true))
      .filter(f => DeltaTables.obstacle(f.current).isEmpty)
  }
}

private[delta] object DeltaTables {
  private val Clustered = "it is a table with CLUSTER BY"

  private val known = new KnownReleases("3.3", "4.0", "4.1", "4.2", "4.3", "4.4")

  def isKnown(version: String): Boolean = known.contains(version)

  /**
   * Table features that a rewrite keeps. Each of them only changes metadata, or Delta's own reader and writer
   * support it.
   */
  private val features = Set(
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "rowTracking",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "vacuumProtocolCheck")

  def unknown(names: Set[String]): Set[String] =
    names.map(_.stripSuffix("-preview")).filterNot(features)

  /** Why OPTIMIZE of a table is left to Delta; None if we rewrite the table. */
  def obstacle(snapshot: Snapshot): Option[String] = {
    val others = unknown(snapshot.protocol.readerAndWriterFeatureNames)
    if (others("clustering")) Some(Clustered)
    else if (others.nonEmpty) {
      Some(s"it has the table features ${others.toSeq.sorted.mkString(", ")}")
    } else None
  }

  /**
   * True if Delta's rules are in the session. Without these rules, a read returns rows that a deletion vector
   * deletes.
   */
  private def hasExtension: Boolean =
    try SparkLine.session(SparkSession.active).sessionState.planner.strategies
        .exists(_.getClass.getName.startsWith("org.apache.spark.sql.delta."))
    catch { case NonFatal(_) => false }
}

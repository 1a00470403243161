// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.util.UUID

import scala.annotation.nowarn
import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.iceberg.{BaseTable, DataFile, PartitionSpec, Snapshot, StructLike}
import org.apache.iceberg.io.LocationProvider
import org.apache.iceberg.types.Types.StructType
import org.apache.iceberg.util.SnapshotUtil

import org.apache.spark.SparkEnv
import org.apache.spark.serializer.JavaSerializer

import io.sparkzorder.sources.{
  DealtTo,
  FormatLoaders,
  LastLayout,
  LayoutKeys,
  LayoutTag,
  PlannedPass,
  SentToExecutor
}

/**
 * The layouts in the summaries of a table's snapshots. A file has the sequence number of the snapshot that
 * added it, and the summary of that snapshot has the layout. Each summary also lists the earlier runs of the
 * same layout, so that their files do not become new when their snapshots expire.
 */
private[iceberg] final class IcebergLayouts(table: BaseTable) {
  import IcebergLayouts._

  private lazy val tagged: Seq[(Snapshot, LayoutTag)] =
    table.snapshots.asScala.toSeq.flatMap(s => read(s).map(s -> _))

  // files of format version 1 have the number 0 or none, also after an upgrade of the table
  private def number(file: DataFile): Option[Long] =
    Option(file.fileSequenceNumber).map(_.longValue).filter(_ > 0)

  private lazy val bySequence: Map[Long, LayoutTag] =
    tagged.flatMap { case (s, tag) => earlier(s).map(_ -> tag) :+ (s.sequenceNumber -> tag) }
      .filter(_._1 > 0).toMap

  // Iceberg 1.10 does not have the method that is to be used instead of `addedDataFiles`
  @nowarn("cat=deprecation")
  private lazy val byPath: Map[String, LayoutTag] = tagged.flatMap { case (s, tag) =>
    s.addedDataFiles(table.io).asScala.map(_.location -> tag)
  }.toMap

  private lazy val sequences: Set[Long] = table.snapshots.asScala.map(_.sequenceNumber).toSet

  def of(file: DataFile): Option[LayoutTag] =
    number(file).fold(byPath.get(file.location))(bySequence.get(_))

  /** True if the snapshot that added the file has expired. */
  def isForgotten(file: DataFile): Boolean = number(file).exists(!sequences(_))

  /**
   * The layout of the last run whose snapshot is in the history of the current snapshot. None if one of the columns
   * was dropped.
   */
  def lastLayout: Option[LastLayout] =
    SnapshotUtil.currentAncestors(table).asScala.iterator.flatMap(read(_)).toSeq.headOption
      .flatMap { tag =>
        val found =
          LayoutKeys.listed(Some(tag.key)).map(id => partsOf(id.toInt, table.schema.asStruct))
        if (found.isEmpty || found.exists(_.isEmpty)) None
        else Some(LastLayout(found.flatten, tag.targetFileSize, tag.weights, tag.sinceMs))
      }

  /**
   * The id of the snapshot before the last run in the history of the current snapshot, and the number of commits of
   * other writers since then. None without such a run, or if the snapshot before it has expired.
   */
  def beforeLastRun: Option[(Long, Int)] = {
    val history = SnapshotUtil.currentAncestors(table).asScala.toSeq
    val tags = history.map(read(_))
    for {
      run <- tags.flatten.headOption.map(_.run)
      first = tags.lastIndexWhere(_.exists(_.run == run))
      before <- history.lift(first + 1)
    } yield (before.snapshotId, tags.take(first).count(!_.exists(_.run == run)))
  }

  /** Ids of the snapshots that a run has committed. */
  def snapshotsOf(run: String): Set[Long] =
    table.snapshots.asScala.filter(read(_).exists(_.run == run)).map(_.snapshotId).toSet

  /** The entries that a commit adds to the summary of its snapshot. */
  def summary(tag: LayoutTag): Map[String, String] = {
    val runs = bySequence.collect { case (n, t) if t.isSame(tag) => n }
    keys.write(tag) ++
      (if (runs.isEmpty) None
       else Some(Runs -> runs.toSeq.sorted.takeRight(MostRuns).mkString(",")))
  }
}

private[iceberg] object IcebergLayouts {
  private val keys = new LayoutKeys(
    "zorder-columns",
    "zorder-field-ids",
    "zorder-target-file-size",
    "zorder-weights",
    "zorder-run",
    "zorder-since")
  private val Runs = "zorder-earlier-runs"

  /** How many earlier commits a summary lists, because it should stay small. The oldest are left out. */
  private val MostRuns = 1000

  private def partsOf(id: Int, in: StructType): Option[Seq[String]] =
    in.fields.asScala.iterator.flatMap { f =>
      if (f.fieldId == id) Some(Seq(f.name))
      else if (f.`type`.isStructType) partsOf(id, f.`type`.asStructType).map(f.name +: _)
      else None
    }.toSeq.headOption

  private def read(s: Snapshot): Option[LayoutTag] =
    keys.read(summary(s).get(_))

  private def earlier(s: Snapshot): Seq[Long] =
    Try(LayoutKeys.listed(summary(s).get(Runs)).map(_.toLong)).getOrElse(Nil)

  /** A snapshot of format version 1 need not have a summary. */
  private def summary(s: Snapshot): collection.Map[String, String] =
    Option(s.summary).fold[collection.Map[String, String]](Map.empty)(_.asScala)
}

/**
 * The pass of a layout in two passes, in the name of a data file: `zorder-<plan>-<region>-<name>` for the first
 * pass and `zorder-<plan>-final-<name>` for the second. The metadata of Iceberg have no better place: the
 * summary of a snapshot expires, and is too small for the regions of thousands of files.
 */
private[iceberg] object NamesOfPasses {
  private val Final = "final"
  private val Named = s"(?s)(?:.*/)?zorder-([0-9a-f-]{36})-(\\d{1,9}|$Final)-[^/]*".r
  // Iceberg numbers the files of a write by the tasks that write them
  private val Numbered = "(\\d{1,9})-.*".r

  /** The region into which the first pass has put a file. */
  def dealt(location: String): Option[DealtTo] = parts(location).collect {
    case (plan, region) if region != Final => DealtTo(plan, region.toInt)
  }

  /** The plan whose second pass has made a file. */
  def finishedPlan(location: String): Option[String] =
    parts(location).collect { case (plan, Final) => plan }

  private def parts(location: String): Option[(String, String)] = location match {
    case Named(plan, region) if Try(UUID.fromString(plan)).isSuccess => Some(plan -> region)
    case _ => None
  }

  /** @param name as Iceberg makes it */
  def named(name: String, pass: PlannedPass): String = {
    val number = name match {
      case Numbered(n) => Some(n.toInt)
      case _ => None
    }
    val region = if (pass.isFirst) pass.regionOf(number).map(_.toString) else Some(Final)
    // a file of the first pass whose region is not known keeps its name, like any new file
    region.fold(name)(r => s"zorder-${pass.plan}-$r-$name")
  }
}

/**
 * Puts files where the table would put them, under names with the pass. Iceberg sends this object to the executors, as
 * a part of the table.
 */
private[iceberg] final class LocationsOfPass(table: LocationProvider, pass: PlannedPass)
    extends LocationProvider {

  // called by Java's serialization
  private def writeReplace(): AnyRef =
    new SentToExecutor("iceberg", classOf[LocationsOfPass].getName, table, pass)

  override def newDataLocation(name: String): String =
    table.newDataLocation(NamesOfPasses.named(name, pass))

  override def newDataLocation(
      spec: PartitionSpec,
      partition: StructLike,
      name: String): String =
    table.newDataLocation(spec, partition, NamesOfPasses.named(name, pass))
}

private[iceberg] object LocationsOfPass {

  /**
   * False if executors may be unable to load the class: our class loader does not find Iceberg, and a serializer such
   * as Kryo sends the name of the class and not a [[SentToExecutor]].
   */
  def reachExecutors: Boolean =
    !FormatLoaders.isCopy(getClass) || SparkEnv.get.serializer.isInstanceOf[JavaSerializer]
}

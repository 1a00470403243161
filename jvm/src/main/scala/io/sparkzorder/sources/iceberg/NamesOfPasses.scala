// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.util.UUID

import scala.util.Try

import org.apache.iceberg.{PartitionSpec, StructLike}
import org.apache.iceberg.io.LocationProvider

import io.sparkzorder.sources.{DealtTo, PlannedPass}

/**
 * What the name of a data file says of a layout in two passes: `zorder-<plan>-<region>-<name>` for the first
 * pass and `zorder-<plan>-final-<name>` for the second. The metadata of Iceberg have no other place for it: the
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
    // without its region, a file of the first pass is like any new file
    region.fold(name)(r => s"zorder-${pass.plan}-$r-$name")
  }
}

/** Puts files where the table would put them, with names that tell of the pass. */
private[iceberg] final class LocationsOfPass(table: LocationProvider, pass: PlannedPass)
    extends LocationProvider {
  override def newDataLocation(name: String): String =
    table.newDataLocation(NamesOfPasses.named(name, pass))

  override def newDataLocation(
      spec: PartitionSpec,
      partition: StructLike,
      name: String): String =
    table.newDataLocation(spec, partition, NamesOfPasses.named(name, pass))
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.scans

import java.util.{LinkedHashMap, Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.sources.{FormatScan, SnapshotFormat}
import io.sparkzorder.util.Directories

/** A table whose scans are noted, as it was when it was opened. */
private[scans] final class OpenedTable(format: SnapshotFormat) {
  private val schema: StructType = format.schema
  val partitionSchema: StructType = format.partitionSchema

  private var last: Option[KnownFiles] = None
  private var reads = 0

  /**
   * What the format knows of these columns. The list of files is read once for each new column, and at
   * last for all of them.
   */
  def known(names: Set[String], sameName: (String, String) => Boolean): KnownFiles = {
    val fit = last.filter(k => names.subsetOf(k.columns) || reads >= OpenedTable.MaxReads)
    val found = fit.getOrElse {
      reads += 1
      val all =
        if (reads == OpenedTable.MaxReads) schema.fieldNames.toSet
        else names ++ last.toSeq.flatMap(_.columns)
      KnownFiles.of(format, schema, partitionSchema, all, sameName)
    }
    last = Some(found)
    found
  }
}

private object OpenedTable {
  private val MaxReads = 4
}

/**
 * The tables whose scans were noted lately. Where the values of a column lie changes slowly, so a table
 * is opened once an hour. Used by one thread.
 */
private[scans] final class OpenedTables(nowMs: () => Long = () => System.currentTimeMillis())
    extends Logging {
  import OpenedTables._

  private val entries = new LinkedHashMap[String, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Entry]): Boolean =
      size > MaxTables
  }

  /**
   * @param application of Spark: what was opened belongs to its sessions
   * @return None if the table cannot be opened, or its notes could not be written
   */
  def of(scan: FormatScan, application: String): Option[OpenedTable] = {
    // nothing else would forget a table that is not read any more
    entries.values.removeIf(e => nowMs() - e.openedMs >= MaxAgeMs || e.application != application)
    val kept = Option(entries.get(scan.location)).filter(_.id == scan.id)
    kept.getOrElse {
      val opened = Entry(scan.id, application, open(scan), nowMs())
      entries.put(scan.location, opened)
      opened
    }.table
  }

  private def open(scan: FormatScan): Option[OpenedTable] =
    try {
      val table = scan.open().map(new OpenedTable(_))
      // the directory of the notes; a table of plain files has it from its index
      table.foreach { _ =>
        val conf = SparkLine.session(SparkSession.active).sessionState.newHadoopConf()
        val home = new Path(scan.location, StateDirectory.Name)
        Directories.makeLikeParent(home.getFileSystem(conf), home, conf)
      }
      table
    } catch {
      case NonFatal(e) =>
        if (warned.size < MaxTables && warned.add(scan.location)) {
          // the message of the error may name a user
          logWarning(s"the workload of ${scan.location} is not recorded: ${e.getClass.getName}")
        }
        None
    }
}

private object OpenedTables {
  final case class Entry(
      id: String,
      application: String,
      table: Option[OpenedTable],
      openedMs: Long)

  private val MaxTables = 100
  private val MaxAgeMs = 3600L * 1000
  private val warned = ConcurrentHashMap.newKeySet[String]()
}

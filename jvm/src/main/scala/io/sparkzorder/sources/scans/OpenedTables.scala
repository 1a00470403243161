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

import io.sparkzorder.index._
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.ordering.OrderedType
import io.sparkzorder.sources.{FormatEntries, FormatFile, FormatScan, SnapshotFormat}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.util.Directories

/** A table whose scans are recorded, with the schema that it had when it was opened. */
private[scans] final class OpenedTable(format: SnapshotFormat) {
  private val schema: StructType = format.schema
  val partitionSchema: StructType = format.partitionSchema

  private var last: Option[KnownFiles] = None
  private var reads = 0

  /**
   * What the format knows of these columns. A query with a new column reads the list of files again, at most
   * `MaxReads` times, failed reads included. The last time reads the statistics of all columns of the table.
   */
  def known(names: Set[String], sameName: (String, String) => Boolean): KnownFiles = {
    val fit = last.filter(k => names.subsetOf(k.columns) || reads >= OpenedTable.MaxReads)
    val found = fit.getOrElse {
      if (reads >= OpenedTable.MaxReads) {
        throw new IllegalStateException(s"the list of files of ${format.name} cannot be read")
      }
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
 * The tables whose scans were recorded lately. The distribution of a column's values changes slowly, so a
 * table is opened at most once an hour. Only the thread of `LaterNotes` uses this object.
 */
private[scans] final class OpenedTables extends Logging {
  import OpenedTables._

  private val entries = new LinkedHashMap[String, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Entry]): Boolean =
      size > MaxTables
  }

  /**
   * @param application the id of the Spark application, whose sessions have opened the tables
   * @return None if the table cannot be opened, or if the directory of its workload cannot be made
   */
  def of(scan: FormatScan, application: String): Option[OpenedTable] = {
    val nowMs = System.currentTimeMillis()
    // also removes tables that are not read any more
    entries.values.removeIf(e => nowMs - e.openedMs >= MaxAgeMs || e.application != application)
    val kept = Option(entries.get(scan.location)).filter(_.id == scan.id)
    kept.getOrElse {
      val opened = Entry(scan.id, application, open(scan), nowMs)
      entries.put(scan.location, opened)
      opened
    }.table
  }

  private def open(scan: FormatScan): Option[OpenedTable] =
    try {
      val table = scan.open().map(new OpenedTable(_))
      // The workload needs the directory `_zorder`. A plain table already has this directory with its index.
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

/**
 * The statistics of some columns of a table's files, in the form of an index. They tell where among the rows the
 * values of a filter lie. No file is skipped by them.
 *
 * @param columns names of the columns
 * @param content the index of a sample of the files; their lengths are scaled up to the length of all files
 */
private[scans] final class KnownFiles private (
    val columns: Set[String],
    val content: IndexContent) {

  /**
   * Identifies this object to [[io.sparkzorder.workload.NotedFilters]]. The notes of a table keep the identity as
   * long as the driver lives. The identity does not refer to the content, so that the content can be freed.
   */
  val identity: AnyRef = new Object

  /** Bytes of all files of the table. */
  def bytes: Double = content.files.lengths.map(_.toDouble).sum
}

private[scans] object KnownFiles {
  // enough files to estimate a distribution
  private val MaxFiles = 2048

  /** @param names the names of the columns; columns of which the format has no bounds are left out */
  def of(
      format: SnapshotFormat,
      schema: StructType,
      partitionSchema: StructType,
      names: Set[String],
      sameName: (String, String) => Boolean): KnownFiles = {
    val columns = names.toSeq.sorted.flatMap(n => schema.find(f => sameName(f.name, n)))
      .filterNot(f => partitionSchema.exists(_.name == f.name))
      .filter(f =>
        OrderedType.of(f.dataType).isDefined && LeafType.ofValues(f.dataType) != OtherLeaf)
      .map(f => OrderingColumn(Seq(f.name), f.dataType)).filter(format.hasBounds)
    val files = format.snapshot(columns, None).files
    // rounded up
    val step = math.max(1, (files.size + MaxFiles - 1) / MaxFiles)
    val some = files.indices.by(step).map(files(_))
    val scale = files.map(_.bytes).sum.toDouble / math.max(1L, some.map(_.bytes).sum)
    val entries = some.zipWithIndex.map { case (f, i) => entry(f, i, columns, scale) }
    new KnownFiles(names, IndexContent.of(entries))
  }

  private def entry(
      file: FormatFile,
      number: Int,
      columns: Seq[OrderingColumn],
      scale: Double): FileEntry = {
    val leaves = columns.zip(file.columns).map { case (c, info) =>
      FormatEntries.leaf(c.parts, c.dataType, info, file.records)
    }
    FileEntry(
      number.toString,
      (file.bytes * scale).toLong,
      0L,
      file.records,
      LeafColumns(columns.map(_.parts)),
      leaves)
  }
}

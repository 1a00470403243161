package io.sparkzorder.formats.scans

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.formats.TableFormat
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.Directories

/** A table whose scans are noted, as it was when it was opened. */
private[scans] final class OpenedTable(val format: TableFormat) {
  private var last: Option[KnownFiles] = None

  /** What the format knows of at least these columns. */
  def known(names: Set[String], sameName: (String, String) => Boolean): KnownFiles = {
    val fit = last.filter(k => names.subsetOf(k.columns))
    val found = fit.getOrElse {
      KnownFiles.of(format, names ++ last.toSeq.flatMap(_.columns), sameName)
    }
    last = Some(found)
    found
  }
}

/**
 * The tables whose scans were noted lately. Where the values of a column lie changes slowly, so a table
 * is looked at once an hour. Used by one thread.
 */
private[scans] final class OpenedTables(nowMs: () => Long = () => System.currentTimeMillis())
    extends Logging {
  import OpenedTables._

  private val entries = new LinkedHashMap[String, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Entry]): Boolean =
      size > MaxTables
  }

  /** None if the table cannot be opened, or its notes could not be written. */
  def of(scan: FormatScan): Option[OpenedTable] = {
    val kept = Option(entries.get(scan.location))
      .filter(e => e.id == scan.id && nowMs() - e.openedMs < MaxAgeMs)
    kept.getOrElse {
      val opened = Entry(scan.id, open(scan), nowMs())
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
        // the message of the error may name a user
        logWarning(s"the workload of ${scan.location} is not recorded: ${e.getClass.getName}")
        None
    }
}

private object OpenedTables {
  final case class Entry(id: String, table: Option[OpenedTable], openedMs: Long)

  private val MaxTables = 100
  private val MaxAgeMs = 3600L * 1000
}

package io.sparkzorder.tables

import java.util.TimeZone

import org.apache.hadoop.conf.Configuration
import org.apache.orc.Reader
import org.apache.orc.TypeDescription.Category
import org.apache.orc.impl.RecordReaderImpl

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.errors.ZOrderErrors

/**
 * The zones in which ORC files were written. A TIMESTAMP of ORC is a time on the clock of its writer, so
 * one who reads it in another zone and writes it back there loses what this zone's clock does not show: the hour
 * that daylight saving leaves out, and which of two equal hours it was.
 */
object OrcZones {

  /**
   * Refuses files of another zone than this JVM's, in which tasks are taken to run as well.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE, naming column and file
   */
  def check(footers: Seq[Footer], conf: Configuration): Unit = {
    val timed = footers.filter(f => f.rows > 0 && f.orc.exists(_.timestamp.isDefined))
    val here = TimeZone.getDefault
    val zones = SparkPrivate.inParallel(timed, "zorder-footers", FooterReader.Threads) { f =>
      OrcFooters.withFile(f.file, conf)(zoneOf)
    }
    timed.zip(zones).find(!_._2.forall(_.hasSameRules(here))).foreach { case (f, zone) =>
      throw ZOrderErrors.typeNotWritable(
        f.orc.get.timestamp.get,
        s"${Category.TIMESTAMP.getName} of the zone ${zone.get.getID}",
        f.file.path.toString,
        s"one of the zone ${here.getID} (or run the statement with -Duser.timezone=${zone.get.getID})")
    }
  }

  /** By the first stripe; a file has one writer. */
  private def zoneOf(reader: Reader): Option[TimeZone] = {
    val root = Array.tabulate(reader.getSchema.getMaximumId + 1)(_ == 0)
    val rows = reader.rows(reader.options.include(root)).asInstanceOf[RecordReaderImpl]
    try {
      val footer = rows.readStripeFooter(reader.getStripes.get(0))
      if (footer.hasWriterTimezone) Some(TimeZone.getTimeZone(footer.getWriterTimezone)) else None
    } finally rows.close()
  }
}

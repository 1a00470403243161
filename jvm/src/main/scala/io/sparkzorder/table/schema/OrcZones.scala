package io.sparkzorder.table.schema

import java.util.TimeZone

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.Reader
import org.apache.orc.TypeDescription.Category
import org.apache.orc.impl.RecordReaderImpl

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.stats.{Footer, FooterReader, OrcFooters}

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
      OrcFooters.withFile(f.file, conf)(zonesOf)
    }
    val others = timed.zip(zones).flatMap { case (f, own) =>
      own.find(!_.hasSameRules(here)).map(f -> _)
    }
    others.headOption.foreach { case (f, zone) =>
      throw ZOrderErrors.typeNotWritable(
        f.orc.get.timestamp.get,
        s"${Category.TIMESTAMP.getName} of the zone ${zone.getID}",
        f.file.path.toString,
        s"one of the zone ${here.getID} (or run the statement with -Duser.timezone=${zone.getID})")
    }
  }

  /** Of all stripes: files can be put together from those of several writers, as they are. */
  private def zonesOf(reader: Reader): Seq[TimeZone] = {
    val root = Array.tabulate(reader.getSchema.getMaximumId + 1)(_ == 0)
    val rows = reader.rows(reader.options.include(root)).asInstanceOf[RecordReaderImpl]
    try {
      val footers = reader.getStripes.asScala.map(rows.readStripeFooter)
      footers.filter(_.hasWriterTimezone).map(_.getWriterTimezone).distinct
        .map(TimeZone.getTimeZone).toList
    } finally rows.close()
  }
}

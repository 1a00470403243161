// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{OrcConf, OrcProto, Reader, TypeDescription}
import org.apache.orc.TypeDescription.Category

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.table.stats.{OrcFooters, ScannedFile}

/**
 * The Bloom filters of rewritten ORC files.
 *
 * @param settings for ORC's writer
 * @param lost sentences about columns that had a filter and get none
 */
private[sparkzorder] final case class OrcBloomFilters(
    settings: Map[String, String],
    lost: Seq[String])

private[sparkzorder] object OrcBloomFilters {
  val Prefix = "orc.bloom.filter."

  // A footer of ORC does not tell of filters, so a stripe of a file must be read. Files of one table are as a rule
  // written with the same settings, so a part of many files tells enough.
  private val MaxLooked = 100

  /**
   * The columns that have a filter in the first stripe of one of at most 100 files, unless a property of the table
   * names the columns.
   *
   * @param footers of the files that are rewritten
   * @param ofTable settings of the table that begin with [[Prefix]]
   */
  def of(
      footers: Seq[ScannedFile],
      ofTable: Map[String, String],
      conf: Configuration): OrcBloomFilters =
    if (ofTable.contains(OrcConf.BLOOM_FILTER_COLUMNS.getAttribute)) OrcBloomFilters(ofTable, Nil)
    else {
      val holding = footers.filter(_.rows > 0)
      val step = math.max(1, math.ceil(holding.size.toDouble / MaxLooked).toInt)
      val looked = holding.indices.by(step).map(holding)
      val had = SparkPrivate.inParallel(looked)(f => OrcFooters.withFile(f.file, conf)(columnsOf))
        .flatten.distinct.sortBy(_._1)
      val (kept, notKept) = had.partition(_._2)
      OrcBloomFilters(
        if (kept.isEmpty) ofTable
        else
          ofTable + (OrcConf.BLOOM_FILTER_COLUMNS.getAttribute -> kept.map(_._1).mkString(",")),
        if (notKept.isEmpty) Nil
        else
          Seq(
            s"the new files have no Bloom filter of ${notKept.map(_._1).mkString("`", "`, `", "`")}"))
    }

  /** The names of the columns with a filter, and whether the new files can have the filter. */
  private def columnsOf(reader: Reader): Seq[(String, Boolean)] =
    OrcFooters.ofStripes(reader, reader.getStripes.asScala.take(1).toSeq)
      .flatMap(_.getStreamsList.asScala).filter(s => isFilter(s.getKind))
      .map(_.getColumn).distinct.map(reader.getSchema.findSubtype(_))
      // a struct, list or map has a filter, too, if the setting named it
      .filter(_.getCategory.isPrimitive)
      .map(t => t.getFullFieldName -> canHave(t))

  private def isFilter(kind: OrcProto.Stream.Kind): Boolean =
    kind == OrcProto.Stream.Kind.BLOOM_FILTER || kind == OrcProto.Stream.Kind.BLOOM_FILTER_UTF8

  /**
   * A filter of a floating-point column would hide -0.0 from a query for 0.0. ORC's setting is a list of names at
   * commas, with a dot before a field of a struct.
   */
  private def canHave(t: TypeDescription): Boolean =
    t.getCategory != Category.FLOAT && t.getCategory != Category.DOUBLE &&
      t.getFullFieldName.matches("\\w+(\\.\\w+)*") && isInStructs(t)

  // a dot inside of a name cannot be told from the dot before a field
  private def isInStructs(t: TypeDescription): Boolean =
    Iterator.iterate(t.getParent)(_.getParent).takeWhile(_ != null).forall(p =>
      p.getCategory == Category.STRUCT && !p.getFieldNames.asScala.exists(_.contains('.')))
}

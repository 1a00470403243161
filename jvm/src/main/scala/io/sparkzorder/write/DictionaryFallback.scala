// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.util.{LinkedHashMap => JLinkedHashMap, Map => JMap}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.{ParquetFileReader, ParquetOutputFormat}
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile

import org.apache.spark.internal.Logging

/**
 * Learns from the first files of a run which columns Parquet writes without a dictionary, so that
 * the next files do not build one in vain.
 *
 * Parquet starts a dictionary for each column of each row group. It throws the dictionary away after
 * the first page if the dictionary saves no bytes ("falls back"). The values of that page are hashed
 * and then written once more. A column that fell back in every row group of [[Learned]] files of
 * this JVM is written plainly at once in the next files. Each [[Again]]th file is written with all
 * dictionaries, and a column that kept one in any row group keeps its dictionaries from then on.
 *
 * The inputs' footers would be an earlier source, but a wrong one: a column without a dictionary in
 * rows without order may well have one in rows that are clustered by a correlated column.
 *
 * @param always columns that keep their dictionaries, as paths with dots: the ordering columns,
 *   which have few values in a file
 */
private[write] final class DictionaryFallback(always: Set[String]) {
  import DictionaryFallback._

  private var started = 0
  private var fallen = Map.empty[String, Int]
  private var useful = always

  /**
   * Tells how to write the next file.
   *
   * @return columns to write without a dictionary; None if all columns may have one, and the file
   *   should be shown to [[learn]] when it is complete
   */
  def next(): Option[Set[String]] = synchronized {
    started += 1
    val plain =
      fallen.collect { case (column, files) if files >= Learned => column }.toSet -- useful
    if (plain.isEmpty && started > GiveUp || plain.nonEmpty && started % Again != 0) Some(plain)
    else None
  }

  /** @param footer of a file that was written with dictionaries */
  def learn(footer: ParquetMetadata): Unit = synchronized {
    val chunks =
      footer.getBlocks.asScala.flatMap(_.getColumns.asScala).groupBy(_.getPath.toDotString)
    chunks.foreach { case (column, own) =>
      if (own.exists(hasDictionary)) useful += column
      else if (own.exists(_.getValueCount >= MinValues)) {
        fallen += column -> (fallen.getOrElse(column, 0) + 1)
      }
    }
  }

  private def hasDictionary(chunk: ColumnChunkMetaData): Boolean =
    chunk.getEncodings.asScala.exists(_.usesDictionary)
}

private[write] object DictionaryFallback extends Logging {

  /** Files that must agree. */
  val Learned = 2

  /** One file of so many shows again whether dictionaries save bytes. */
  val Again = 16

  /** After so many files without a column to be written plainly, no further file is looked at. */
  val GiveUp = 16

  /** A chunk with fewer values than this says nothing of a larger one. */
  val MinValues = 1000

  private val Runs = 16

  private val runs = new JLinkedHashMap[String, DictionaryFallback](Runs, 0.75f, true) {
    override def removeEldestEntry(e: JMap.Entry[String, DictionaryFallback]): Boolean =
      size > Runs
  }

  /** What this JVM knows of a run. Forgotten when [[Runs]] others were used since. */
  def of(run: String, always: Set[String]): DictionaryFallback = runs.synchronized {
    runs.computeIfAbsent(run, _ => new DictionaryFallback(always))
  }

  /** Switches the dictionaries of some columns off, in the configuration of one task. */
  def switchOff(columns: Set[String], conf: Configuration): Unit =
    columns.foreach(c => conf.setBoolean(s"${ParquetOutputFormat.ENABLE_DICTIONARY}#$c", false))

  /** The footer of a complete file; None if it cannot be read, since nothing depends on it. */
  def footer(path: Path, conf: Configuration): Option[ParquetMetadata] =
    try {
      // without options, Parquet reads all of Hadoop's settings again
      val options = HadoopReadOptions.builder(conf).build()
      val reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf), options)
      try Some(reader.getFooter)
      finally reader.close()
    } catch {
      case NonFatal(e) =>
        logInfo(s"$path tells nothing about dictionaries", e)
        None
    }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.{DataFormat, OrcFiles, ParquetFiles}

/**
 * File readers with a Hadoop configuration from which Hadoop's defaults are left out. Spark copies the
 * configuration for each file that it opens, and copying about 1,500 defaults takes as long as all other work on
 * a file of 200 rows. The readers work without these entries, because their code has the same defaults. A file
 * system may need the entries. So [[ValuesJob]] first opens the file system with all settings in each task, and
 * Hadoop's cache then gives this file system to the readers.
 */
private[sparkzorder] object FewSettings {
  private val Default = "-default.xml"
  private val reference = "\\$\\{([^}]+)\\}".r

  /** The reader with few settings for the files of a format. */
  def reader(format: DataFormat): FileFormat = format match {
    case ParquetFiles => new OfParquet
    case OrcFiles => new OfOrc
  }

  /**
   * The configuration without Hadoop's defaults. A default to which a value that stays refers also stays, such as
   * `hadoop.tmp.dir` for `${hadoop.tmp.dir}/s3a`. Returns `conf` itself if a scheme does not use Hadoop's cache.
   */
  def of(conf: Configuration): Configuration = {
    val all = conf.iterator.asScala.map(e => e.getKey -> e.getValue).toMap
    val set = all.filterNot { case (key, _) =>
      Option(conf.getPropertySources(key)).flatMap(_.lastOption).exists(_.endsWith(Default))
    }
    // without the cache, each file would be read through a new file system, which would lack the defaults
    val isCached = !set.exists { case (k, v) => k.endsWith(".impl.disable.cache") && v == "true" }
    if (!isCached) conf
    else {
      val slim = new Configuration(false)
      withReferred(set ++ all.filter(_._1 == "hadoop.tmp.dir"), all).foreach { case (key, value) =>
        slim.set(key, value)
      }
      slim
    }
  }

  /** Some settings with all settings to which they refer, directly or in several steps. */
  @tailrec
  private def withReferred(
      settings: Map[String, String],
      all: Map[String, String]): Map[String, String] = {
    val referred = settings.values.flatMap(reference.findAllMatchIn(_).map(_.group(1))).toSet
    val more = all.filter { case (key, _) => referred(key) && !settings.contains(key) }
    if (more.isEmpty) settings else withReferred(settings ++ more, all)
  }

  private final class OfParquet extends ParquetFileFormat with FewSettings
  private final class OfOrc extends OrcFileFormat with FewSettings

  private trait FewSettings extends FileFormat {
    override def buildReaderWithPartitionValues(
        session: SparkSession,
        dataSchema: StructType,
        partitionSchema: StructType,
        requiredSchema: StructType,
        filters: Seq[Filter],
        options: Map[String, String],
        conf: Configuration): PartitionedFile => Iterator[InternalRow] =
      super.buildReaderWithPartitionValues(
        session,
        dataSchema,
        partitionSchema,
        requiredSchema,
        filters,
        options,
        of(conf))
  }
}

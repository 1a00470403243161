// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

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
 * Spark copies Hadoop's configuration for each file that it opens. A copy of some 1,500 defaults takes as long
 * as all else that is done with a file of 200 rows. The readers of files have these defaults in their code, too.
 * File systems may not, so tasks open the file system before, by all settings.
 */
private[sparkzorder] object FewSettings {
  private val Default = "-default.xml"
  private val reference = "\\$\\{([^}]+)\\}".r

  /** The reader of files of a format that gets few settings. */
  def reader(format: DataFormat): FileFormat = format match {
    case ParquetFiles => new OfParquet
    case OrcFiles => new OfOrc
  }

  /** A configuration without Hadoop's defaults, but for those that other values refer to. */
  def of(conf: Configuration): Configuration = {
    val all = conf.iterator.asScala.map(e => e.getKey -> e.getValue).toMap
    val set = all.filterNot { case (key, _) =>
      Option(conf.getPropertySources(key)).flatMap(_.lastOption).exists(_.endsWith(Default))
    }
    // else each file would have a file system of its own, with these settings
    val isCached = !set.exists { case (k, v) => k.endsWith(".impl.disable.cache") && v == "true" }
    if (!isCached) conf
    else {
      val referred = set.values.flatMap(reference.findAllMatchIn(_).map(_.group(1))).toSet
      val slim = new Configuration(false)
      (set ++ all.filter { case (key, _) => referred(key) || key == "hadoop.tmp.dir" })
        .foreach { case (key, value) => slim.set(key, value) }
      slim
    }
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

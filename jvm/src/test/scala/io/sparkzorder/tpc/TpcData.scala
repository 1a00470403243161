// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.col

/**
 * The tables of a workload on disk. Each table is made once and kept.
 *
 * @param base the folder of all data of this workload and scale
 * @param files how many files each fact table has, unless it is partitioned
 */
final class TpcData(workload: Workload, val scale: String, val base: File, val files: Int) {

  /** One file for each table, as tpcgen-cli writes it. */
  lazy val generated: File = made("generated") { folder =>
    val command = Seq(
      TpcData.generator,
      workload.name,
      "parquet",
      s"--scale-factor=$scale",
      "--quiet",
      s"--output-dir=$folder")
    val exit = scala.sys.process.Process(command).!
    if (exit != 0) throw new IllegalStateException(s"tpcgen-cli ended with $exit: $command")
  }

  def dimensions: Seq[String] =
    generated.list().filter(_.endsWith(".parquet")).map(_.stripSuffix(".parquet")).toSeq.sorted
      .filterNot(workload.facts.map(_.name).contains)

  def generatedFile(table: String): File = new File(generated, s"$table.parquet")

  /** The rows in the order of the generator, in `files` files, with a skipping index. */
  def inGeneratedOrder(session: SparkSession, fact: FactTable): File =
    made(s"in-generated-order-$files/${fact.name}") { folder =>
      val position = "_position_of_row"
      session.read.parquet(generatedFile(fact.name).getPath)
        .withColumn(position, col("_metadata.row_index"))
        .repartitionByRange(files, col(position)).sortWithinPartitions(position)
        .drop(position)
        .write.parquet(folder.getPath)
      session.sql(s"CREATE ZORDER INDEX ON '${folder.getPath}'").collect()
    }

  /** A copy of the rows in the order of the generator, after OPTIMIZE. */
  def optimized(session: SparkSession, fact: FactTable): File = {
    val source = inGeneratedOrder(session, fact)
    made(s"optimized-$files-by-${fact.order.mkString("-")}/${fact.name}") { folder =>
      folder.mkdirs()
      val data = source.listFiles().filter(_.getName.endsWith(".parquet"))
      data.foreach(FileUtils.copyFileToDirectory(_, folder))
      val size = data.map(_.length).sum / files
      session.sql(
        s"OPTIMIZE TABLE '${folder.getPath}' ZORDER BY (${fact.order.mkString(", ")}) " +
          s"OPTIONS ('targetFileSize' '${size}b')").collect()
    }
  }

  /** A folder for each date, with one file. */
  def partitioned(session: SparkSession, fact: FactTable): File =
    made(s"partitioned/${fact.name}") { folder =>
      session.read.parquet(generatedFile(fact.name).getPath)
        .repartition(col(fact.date)).write.partitionBy(fact.date).parquet(folder.getPath)
    }

  // a folder without this mark is of a run that was interrupted
  private[tpc] def made(name: String)(make: File => Unit): File = {
    val folder = new File(base, name).getAbsoluteFile
    val mark = new File(folder.getParentFile, s"${folder.getName}.done")
    if (!mark.exists()) {
      FileUtils.deleteDirectory(folder)
      folder.getParentFile.mkdirs()
      make(folder)
      FileUtils.touch(mark)
    }
    folder
  }
}

object TpcData {

  /** tpcgen-cli is a Python package of the environment that the build creates. */
  private def generator: String = new File(".venv/bin/tpcgen-cli").getAbsolutePath
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkConf

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.OptimizeTestBase

/** Runs of OPTIMIZE on a file system that can be stopped; readers use plain paths. */
trait KilledRuns extends OptimizeTestBase {

  override protected def sparkConf: SparkConf = {
    val conf = super.sparkConf.set("spark.zorder.inPlaceSchemes", "file,faulty")
    FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k, v) }
    conf
  }

  /** Of the table's files. */
  protected def format: String = "parquet"

  def statement(dir: File, more: String = ""): String =
    s"OPTIMIZE TABLE $format.`faulty://${dir.getAbsolutePath}` $more ZORDER BY (a, b) " +
      s"OPTIONS (${sizeFor(dir, 4)})"

  protected def committed(dir: File): Int =
    Option(new File(dir, "_zorder/_commits").list()).toSeq.flatten.count(_.matches("_\\d+"))

  /** OPTIMIZE that is killed at the `k`-th rename of its publish; true when it came to that. */
  def killedAt(k: Int, dir: File, more: String = ""): Boolean = {
    val publishing = (operation: String, path: Path) =>
      operation == "rename" && committed(dir) > 0 && !path.toString.contains("_commits")
    Try(FaultyFileSystem.failing(k)(publishing)(sql(statement(dir, more)).collect())).isFailure
  }
}

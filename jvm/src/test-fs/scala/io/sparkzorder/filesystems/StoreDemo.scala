// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import org.apache.spark.sql.SparkSession

/** `make demo-store`: runs the example of the page on object stores on a local S3 server, and prints it. */
object StoreDemo {

  def main(args: Array[String]): Unit = S3Server.program {
    S3Server.makeBucket("lake")
    val spark = S3Server.settings.foldLeft(
      SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.extensions", "io.sparkzorder.ZOrderExtensions")) {
      case (builder, (k, v)) => builder.config(k, v)
    }.getOrCreate()
    try
      StoreExample.steps().foreach { step =>
        println(step.statements.mkString("", ";\n", ";\n"))
        println(StoreExample.run(spark, step) + "\n")
      }
    finally spark.stop()
  }
}

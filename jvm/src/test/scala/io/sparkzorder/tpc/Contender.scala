// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File

import org.apache.spark.sql.SparkSession

/**
 * One way to keep and read the fact tables of a workload.
 *
 * @param settings the settings of the session that reads
 */
final case class Contender(
    name: String,
    settings: Map[String, String],
    folder: (TpcData, SparkSession, FactTable) => File)

object Contender {
  private val Skipping = "spark.zorder.skipping.enabled"

  /** The tables after OPTIMIZE, read without the index. All others are compared with it. */
  val WithoutIndex: Contender =
    Contender("without index", Map(Skipping -> "false"), _.optimized(_, _))

  val WithIndex: Contender = Contender("with index", Map(Skipping -> "true"), _.optimized(_, _))

  val GeneratedOrder: Contender =
    Contender("generated order", Map(Skipping -> "true"), _.inGeneratedOrder(_, _))

  /** Spark alone, which prunes partitions by its dynamic partition pruning. */
  val Partitioned: Contender =
    Contender("partitioned by date", Map("spark.zorder.enabled" -> "false"), _.partitioned(_, _))

  val all: Seq[Contender] = Seq(WithoutIndex, WithIndex, GeneratedOrder, Partitioned)

  /** A session with a view for each table. The views keep their listings of files. */
  def open(
      contender: Contender,
      workload: Workload,
      data: TpcData,
      spark: SparkSession): OpenContender = {
    val session = spark.newSession()
    val folders =
      workload.facts.map(fact => fact.name -> contender.folder(data, session, fact)).toMap ++
        data.dimensions.map(name => name -> data.generatedFile(name))
    contender.settings.foreach { case (key, value) => session.conf.set(key, value) }
    folders.foreach { case (table, folder) =>
      val schema = session.read.parquet(data.generatedFile(table).getPath).schema
      // the queries have this one name of the specification, and tpcgen-cli another
      session.read.schema(schema).parquet(folder.getPath)
        .withColumnRenamed("c_last_review_date_sk", "c_last_review_date").createTempView(table)
    }
    val sizes = workload.facts.map(f => f.name -> OpenContender.size(folders(f.name))).toMap
    OpenContender(contender, session, sizes)
  }
}

/** @param sizes files and bytes of each fact table */
final case class OpenContender(
    contender: Contender,
    session: SparkSession,
    sizes: Map[String, (Int, Long)])

object OpenContender {
  private[tpc] def size(folder: File): (Int, Long) = {
    def in(f: File): Seq[File] =
      if (f.isFile) Seq(f)
      else f.listFiles().toSeq.filterNot(_.getName.matches("[_.].*")).flatMap(in)
    val files = in(folder).filter(_.getName.endsWith(".parquet"))
    (files.size, files.map(_.length).sum)
  }
}

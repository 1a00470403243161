// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File

import org.apache.spark.sql.{DataFrame, SparkSession}

/** A fact table as a session reads it, with the number and the bytes of its files. */
final case class OpenFact(rows: DataFrame, files: Int, bytes: Long)

/** One way to keep the fact tables of a workload. */
trait FactTables {

  /** The table, which is made if it is not there. */
  def open(session: SparkSession, fact: FactTable): OpenFact
}

/** Folders of Parquet files, which are read by the schema of the generated file. */
final class PlainFacts(data: TpcData, folder: (TpcData, SparkSession, FactTable) => File)
    extends FactTables {

  override def open(session: SparkSession, fact: FactTable): OpenFact = {
    val own = folder(data, session, fact)
    val schema = session.read.parquet(data.generatedFile(fact.name).getPath).schema
    val (files, bytes) = OpenContender.size(own)
    OpenFact(session.read.schema(schema).parquet(own.getPath), files, bytes)
  }
}

/**
 * One way to keep and read the fact tables of a workload.
 *
 * @param settings the settings of the session that reads
 */
final case class Contender(name: String, settings: Map[String, String], facts: FactTables)

object Contender {
  private val Skipping = "spark.zorder.skipping.enabled"

  private def plain(
      name: String,
      settings: Map[String, String],
      data: TpcData,
      folder: (TpcData, SparkSession, FactTable) => File): Contender =
    Contender(name, settings, new PlainFacts(data, folder))

  /** The tables after OPTIMIZE, read without the index. All others are compared with it. */
  def withoutIndex(data: TpcData): Contender =
    plain("without index", Map(Skipping -> "false"), data, _.optimized(_, _))

  def withIndex(data: TpcData): Contender =
    plain("with index", Map(Skipping -> "true"), data, _.optimized(_, _))

  def generatedOrder(data: TpcData): Contender =
    plain("generated order", Map(Skipping -> "true"), data, _.inGeneratedOrder(_, _))

  /** Spark alone, which prunes partitions by its dynamic partition pruning. */
  def partitioned(data: TpcData): Contender =
    plain(
      "partitioned by date",
      Map("spark.zorder.enabled" -> "false"),
      data,
      _.partitioned(_, _))

  def all(data: TpcData): Seq[Contender] =
    Seq(withoutIndex(data), withIndex(data), generatedOrder(data), partitioned(data))

  /** A session with a view for each table. The views keep their listings of files. */
  def open(
      contender: Contender,
      workload: Workload,
      data: TpcData,
      spark: SparkSession): OpenContender = {
    val session = spark.newSession()
    // tables are made by sessions with all of our settings at their defaults
    val made = workload.facts.map { fact =>
      contender.settings.foreach { case (key, value) =>
        if (!key.startsWith("spark.zorder.")) session.conf.set(key, value)
      }
      fact.name -> contender.facts.open(session, fact)
    }
    contender.settings.foreach { case (key, value) => session.conf.set(key, value) }
    val dimensions =
      data.dimensions.map(name => name -> session.read.parquet(data.generatedFile(name).getPath))
    (made.map { case (name, fact) => name -> fact.rows } ++ dimensions).foreach {
      case (table, rows) =>
        // the queries have this one name of the specification, and tpcgen-cli another
        rows.withColumnRenamed("c_last_review_date_sk", "c_last_review_date")
          .createTempView(table)
    }
    val sizes = made.map { case (name, fact) => name -> ((fact.files, fact.bytes)) }.toMap
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

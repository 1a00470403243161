// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.net.JarURLConnection
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._

/**
 * A large table of a workload.
 *
 * @param order the columns of ZORDER BY
 * @param date the column by which users partition the table
 */
final case class FactTable(name: String, order: Seq[String], date: String)

/** One query of a workload. */
final case class TpcQuery(name: String, text: String) {

  /**
   * The query without its last LIMIT. Rows that are equal in the order of the query may come in any
   * order, so LIMIT may choose other rows in another layout.
   */
  def withoutLimit: String = text.replaceFirst("(?is)\\blimit\\s+\\d+\\s*;?\\s*$", "")
}

/**
 * A TPC benchmark. Its queries are resources of the `tests` artifact of Spark's sql module, on
 * which the suites depend; no query is in this repository.
 *
 * @param name the name of the workload in tpcgen-cli, and the folder of the queries in the artifact
 * @param facts the tables that are laid out in several ways; all others are dimensions
 */
final case class Workload(name: String, facts: Seq[FactTable]) {

  lazy val queries: Seq[TpcQuery] = {
    val folder = Workload.loader.getResource(s"$name/q1.sql").openConnection()
      .asInstanceOf[JarURLConnection].getJarFile
    val names = folder.entries().asScala.map(_.getName).filter(_.matches(s"$name/q\\w+\\.sql"))
      .map(_.stripPrefix(s"$name/").stripSuffix(".sql")).toSeq
    names.sortBy(n => (n.filter(_.isDigit).toInt, n)).map { query =>
      val in = Workload.loader.getResourceAsStream(s"$name/$query.sql")
      try TpcQuery(query, scala.io.Source.fromInputStream(in, UTF_8.name).mkString)
      finally in.close()
    }
  }
}

object Workload {
  private def loader = classOf[org.apache.spark.sql.QueryTest].getClassLoader

  private def dateAndItem(name: String, prefix: String, date: String): FactTable =
    FactTable(name, Seq(s"$prefix$date", s"${prefix}item_sk"), s"$prefix$date")

  /** Facts are ordered by (date, item). */
  val tpcds: Workload = Workload(
    "tpcds",
    Seq(
      dateAndItem("store_sales", "ss_", "sold_date_sk"),
      dateAndItem("store_returns", "sr_", "returned_date_sk"),
      dateAndItem("catalog_sales", "cs_", "sold_date_sk"),
      dateAndItem("catalog_returns", "cr_", "returned_date_sk"),
      dateAndItem("web_sales", "ws_", "sold_date_sk"),
      dateAndItem("web_returns", "wr_", "returned_date_sk"),
      dateAndItem("inventory", "inv_", "date_sk")))

  /** The two large tables are ordered by (date, key of another table). */
  val tpch: Workload = Workload(
    "tpch",
    Seq(
      FactTable("lineitem", Seq("l_shipdate", "l_partkey"), "l_shipdate"),
      FactTable("orders", Seq("o_orderdate", "o_custkey"), "o_orderdate")))

  val all: Seq[Workload] = Seq(tpcds, tpch)
}

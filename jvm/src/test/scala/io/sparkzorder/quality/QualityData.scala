// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

/**
 * A table of hashes of the row number, which has the same rows on every machine.
 *
 * @param name name of the case
 * @param columns name and SQL expression over `id` of each ordering column
 * @param folder SQL expression of the partition column `p`; None for a table without partitions
 */
final case class QualityData(
    name: String,
    rows: Long,
    columns: Seq[(String, String)],
    folder: Option[String] = None) {

  def columnNames: Seq[String] = columns.map(_._1)

  /** The rows. Each part writes one file, or one file for each partition. */
  def frame(session: Session): Frame = {
    val parts = if (folder.isEmpty) 8 else 2
    val expressions = columns ++ folder.map("p" -> _)
    session.range(0L, rows, 1L, parts).selectExpr(expressions.map { case (n, e) =>
      s"$e AS $n"
    }: _*)
  }
}

object QualityData {

  /** Independent columns of uniform values with hardly any duplicates. */
  def uniform(columns: Int, rows: Long): QualityData = QualityData(
    s"uniform, $columns columns",
    rows,
    (1 to columns).map(c => s"c$c" -> number(c)))

  /** Tables of two columns on which min/max helps more, or less, than on uniform columns. */
  def skewed(rows: Long): Seq[QualityData] = {
    def data(name: String, columns: (String, String)*) = QualityData(name, rows, columns)
    Seq(
      data("zipf 1.1 and uniform", "z" -> zipf, "u" -> number(2)),
      data("half one value", "h" -> s"if(${share(1)} < 0.5, 0, ${number(3)})", "u" -> number(2)),
      data("7 and 400,000 values", "few" -> below(7, 1), "many" -> below(400000, 2)),
      data("3 and 20 values", "few" -> below(3, 1), "more" -> below(20, 2)),
      data("30 % nulls", "a" -> nulls(number(1), 3), "b" -> nulls(number(2), 4)),
      data("correlated dates", "ordered" -> ordered, "shipped" -> shipped),
      data("strings of one prefix", "s" -> prefixed, "u" -> number(2)),
      data("DECIMAL(38,18)", "d" -> decimal, "u" -> number(2)),
      data("timestamps of a day", "t" -> moment, "u" -> number(2)),
      data("sorted and random", "id" -> "id", "u" -> number(2)))
  }

  /**
   * Partitions of very different sizes that have no values of `a` in common, so a grid for the
   * whole table would suit none of them.
   */
  def partitioned(folders: Int, rows: Long): QualityData = {
    val folder = s"cast(floor($folders * pow(${share(9)}, 2.5)) as int)"
    QualityData(
      s"$folders partitions",
      rows,
      Seq("a" -> s"$folder * 1000000L + ${below(1000000, 1)}", "b" -> number(2)),
      Some(folder))
  }

  private def number(seed: Int) = s"cast(${below(1 << 30, seed)} as int)"

  private def below(values: Int, seed: Int) = s"pmod(xxhash64(id, $seed), $values)"

  /** A uniform number from 0 up to 1. */
  private def share(seed: Int) = s"(pmod(xxhash64(id, $seed), ${1L << 52}) / ${1L << 52}D)"

  // the inverse of a bounded Pareto distribution over 1 to 10,000, its ranks scattered over the
  // INTs
  private val zipf =
    s"hash(cast(floor(pow(1 - ${share(1)} * (1 - pow(10000D, -0.1D)), -10D)) as int))"

  private def nulls(value: String, seed: Int) = s"if(${share(seed)} < 0.3, null, $value)"

  private val ordered = s"date_add(date'2020-01-01', cast(${below(2000, 1)} as int))"
  private val shipped = s"date_add($ordered, cast(1 + ${below(120, 2)} as int))"
  private val prefixed = s"concat(repeat('prefix/', 5), 'path/', hex(xxhash64(id, 1)))"

  private val decimal =
    "cast(concat(xxhash64(id, 1), '.', pmod(xxhash64(id, 5), 1000000000)) as decimal(38, 18))"

  private val moment = "timestamp_micros(1767225600000000 + pmod(xxhash64(id, 1), 86400000000))"
}

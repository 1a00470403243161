// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.util.{LinkedHashMap, Map => JMap}

import scala.collection.JavaConverters._

/** The numbers of outcomes, as Markdown and for JSON. */
object QualityReport {

  /** The numbers of an outcome, in the order of the columns of the Markdown table. */
  private def numbers(o: Outcome): Seq[(String, Any)] = Seq(
    "case" -> o.name,
    "wanted" -> o.wanted,
    "files" -> o.files.units,
    "point" -> o.files.pointExcess,
    "kd point" -> o.oracleExcess,
    "worst column" -> o.files.columnExcess.max,
    "1 % range" -> o.files.rangeExcess(0.01),
    "10 % range" -> o.files.rangeExcess(0.1),
    "1 % box" -> o.files.boxExcess(0.01),
    "10 % box" -> o.files.boxExcess(0.1),
    "row groups" -> o.rowGroups.units,
    "row group point" -> o.rowGroups.pointExcess,
    "pages" -> o.pages.units,
    "page point" -> o.pages.pointExcess,
    "to kd by column" -> o.againstOracle,
    "largest rows" -> o.sizes.largestByRows,
    "largest bytes" -> o.sizes.largestByBytes,
    "small files" -> o.sizes.small)

  def markdown(outcomes: Seq[Outcome]): String =
    outcomes.headOption.map(head).getOrElse("") + outcomes.map(line).mkString("\n")

  /** The first two lines of the Markdown table, for callers that print line by line. */
  def head(o: Outcome): String = {
    val names = numbers(o).map(_._1)
    cells(names) + "\n" + cells(names.map(_ => "---")) + "\n"
  }

  def line(o: Outcome): String = cells(numbers(o).map(n => text(n._2)))

  def json(outcomes: Seq[Outcome]): java.util.List[JMap[String, Any]] = outcomes.map { o =>
    val fields: JMap[String, Any] = new LinkedHashMap[String, Any]()
    (numbers(o) ++ Seq("columns" -> o.columns, "column excess" -> o.files.columnExcess))
      .foreach { case (k, v) => fields.put(k.replace(' ', '_').replace("%", "percent"), plain(v)) }
    fields
  }.asJava

  /** The mean of ratios. */
  def geometricMean(ratios: Seq[Double]): Double =
    math.exp(ratios.map(math.log).sum / ratios.size)

  private def cells(texts: Seq[String]): String = texts.mkString("| ", " | ", " |")

  private def plain(v: Any): Any = v match {
    case s: Seq[_] => s.asJava
    case other => other
  }

  private def text(v: Any): String = v match {
    case d: Double => f"$d%.3f"
    case s: Seq[_] => s.map(text).mkString(", ")
    case other => other.toString
  }
}

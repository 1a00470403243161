package io.sparkzorder.quality

import java.util.{LinkedHashMap, Map => JMap}

import scala.collection.JavaConverters._

/** Numbers of outcomes, as Markdown and for JSON. */
object QualityReport {

  /** Numbers that each outcome has, in the order of the table's columns. */
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

  def markdown(outcomes: Seq[Outcome]): String = {
    val rows = outcomes.map(numbers)
    val head = rows.headOption.toSeq.flatMap(_.map(_._1))
    (Seq(head, head.map(_ => "---")) ++ rows.map(_.map(n => text(n._2))))
      .map(_.mkString("| ", " | ", " |")).mkString("\n")
  }

  def json(outcomes: Seq[Outcome]): java.util.List[JMap[String, Any]] = outcomes.map { o =>
    val fields: JMap[String, Any] = new LinkedHashMap[String, Any]()
    (numbers(o) ++ Seq("columns" -> o.columns, "column excess" -> o.files.columnExcess))
      .foreach { case (k, v) => fields.put(k.replace(' ', '_').replace("%", "percent"), plain(v)) }
    fields
  }.asJava

  /** The mean of ratios. */
  def geometricMean(ratios: Seq[Double]): Double =
    math.exp(ratios.map(math.log).sum / ratios.size)

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

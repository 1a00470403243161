package io.sparkzorder.errors

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper

/** A condition as the file of conditions has it; `<name>` in `message` stands for a parameter. */
private[sparkzorder] final case class ErrorCondition(message: String, sqlState: String)

/**
 * Reads `zorder-error-conditions.json`. Spark's own reader knows only Spark's file, so the message
 * is rendered here.
 */
private[sparkzorder] object ErrorConditions {
  private val resource = "/io/sparkzorder/zorder-error-conditions.json"

  /** Every condition by its name. */
  lazy val all: Map[String, ErrorCondition] = {
    val in = getClass.getResourceAsStream(resource)
    try {
      val conditions = new ObjectMapper().readTree(in)
      conditions.fieldNames().asScala.map { name =>
        val c = conditions.get(name)
        name -> ErrorCondition(c.get("message").asText, c.get("sqlState").asText)
      }.toMap
    } finally in.close()
  }

  /** `[CONDITION] text SQLSTATE: 00000`, the form of Spark's own messages. */
  def render(condition: String, parameters: Map[String, String]): String = {
    val c = all(condition)
    // one pass, so that a `<name>` inside a value stays as it is
    val text = placeholder.replaceAllIn(
      c.message,
      m => java.util.regex.Matcher.quoteReplacement(parameters.getOrElse(m.group(1), m.group(0))))
    s"[$condition] $text SQLSTATE: ${c.sqlState}"
  }

  private[errors] val placeholder = "<([a-zA-Z]+)>".r
}

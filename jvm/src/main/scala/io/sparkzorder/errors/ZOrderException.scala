// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

import org.apache.spark.ErrorClassesJsonReader

import io.sparkzorder.util.OwnJar

/**
 * An error that spark-zorder raises: an `AnalysisException` of Spark with a condition of
 * `zorder-error-conditions.json`, the named parameters of the condition, and its SQLSTATE. Scala, SQL, PySpark and
 * Connect show the same error.
 *
 * @param note a sentence that follows the text of the condition
 */
private[sparkzorder] class ZOrderException(
    condition: String,
    parameters: Map[String, String],
    rootCause: Option[Throwable] = None,
    note: Option[String] = None)
    extends ErrorOfSparkLine(
      ErrorConditions.render(condition, parameters, note),
      condition,
      parameters,
      rootCause) {

  /** True if a statement was to create an index, but the table already has one. */
  def isIndexExists: Boolean = condition == "ZORDER_INDEX_EXISTS"

  /** True if another program has changed what a run was about to replace. */
  def isConflict: Boolean = condition == "ZORDER_CONFLICT"

  /**
   * The same error of a statement that has committed other batches. Texts of conditions say that nothing was changed,
   * which is true of the failed batch alone.
   */
  def besides(batches: Int): ZOrderException = {
    val others =
      if (batches == 1) "1 other batch, which stays" else s"$batches other batches, which stay"
    val told = s"This message is about the failed step only: the statement has committed $others."
    val error = new ZOrderException(condition, parameters, rootCause, Some(told))
    error.setStackTrace(getStackTrace)
    getSuppressed.foreach(error.addSuppressed)
    error
  }

  override def getSqlState: String = ErrorConditions.sqlState(condition)
}

/** Messages and SQLSTATEs of the conditions, read by Spark's own reader of such files. */
private[errors] object ErrorConditions {
  private val resource = "io/sparkzorder/zorder-error-conditions.json"
  private lazy val reader = new ErrorClassesJsonReader(Seq(OwnJar.resource(resource)))

  def sqlState(condition: String): String = reader.getSqlState(condition)

  /** The text of a condition, with the names of its parameters. */
  def template(condition: String): String = reader.getMessageTemplate(condition)

  /** `[CONDITION] text SQLSTATE: 00000`, the form of Spark's own messages. */
  def render(
      condition: String,
      parameters: Map[String, String],
      note: Option[String] = None): String = {
    val text = reader.getErrorMessage(condition, parameters) + note.fold("")(" " + _)
    s"[$condition] $text SQLSTATE: ${sqlState(condition)}"
  }
}

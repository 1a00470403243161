package io.sparkzorder.errors

import org.apache.spark.sql.AnalysisException

/**
 * Every error that spark-zorder raises: a Spark `AnalysisException` with a condition of
 * `zorder-error-conditions.json`, its named parameters and its SQLSTATE, so that Scala, SQL, PySpark
 * and Connect show the same.
 */
class ZOrderException(
    condition: String,
    parameters: Map[String, String],
    rootCause: Option[Throwable] = None)
    extends AnalysisException(
      ErrorConditions.render(condition, parameters),
      None,
      None,
      rootCause,
      Some(condition),
      parameters,
      Array.empty[org.apache.spark.QueryContext]) {

  override def getSqlState: String = ErrorConditions.all(condition).sqlState
}

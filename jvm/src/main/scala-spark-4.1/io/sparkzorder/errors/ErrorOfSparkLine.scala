// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

import org.apache.spark.QueryContext
import org.apache.spark.sql.AnalysisException

/**
 * The base class of our errors for Spark 4.1 and later. An error carries its SQLSTATE and its text, so that the copies
 * that Spark makes of the error have both: the analyzer copies an error to add a plan or a position.
 */
private[errors] abstract class ErrorOfSparkLine(
    text: String,
    condition: String,
    parameters: Map[String, String],
    rootCause: Option[Throwable])
    extends AnalysisException(
      text,
      None,
      None,
      rootCause,
      Some(condition),
      parameters,
      Array.empty[QueryContext],
      Some(ErrorConditions.sqlState(condition)),
      Some(ErrorConditions.template(condition)))

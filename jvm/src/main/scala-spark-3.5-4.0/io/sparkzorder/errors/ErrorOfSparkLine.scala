// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

import org.apache.spark.QueryContext
import org.apache.spark.sql.AnalysisException

/**
 * The base class of our errors for Spark before 4.1. These versions look up the text and the SQLSTATE of a condition
 * only in Spark's own list, so this class passes the finished text.
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
      Array.empty[QueryContext])

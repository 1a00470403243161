// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

import org.apache.spark.QueryContext
import org.apache.spark.sql.AnalysisException

/** An error of Spark before 4.1, which looks up SQLSTATE and text of a condition in Spark's own list alone. */
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

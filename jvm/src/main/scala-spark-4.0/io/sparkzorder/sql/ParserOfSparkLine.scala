// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.types.StructType

/**
 * The parser method that Spark 4.0 adds. The parameters of a statement need no method: the analyzer binds them, as in
 * Spark 3.5.
 */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface =>

  override def parseRoutineParam(sqlText: String): StructType = delegate.parseRoutineParam(sqlText)
}

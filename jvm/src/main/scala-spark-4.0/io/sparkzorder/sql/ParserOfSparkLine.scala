// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.types.StructType

/** The parser method that Spark 4.0 adds. As in 3.5, the analyzer binds the parameters of a statement. */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface =>

  override def parseRoutineParam(sqlText: String): StructType = delegate.parseRoutineParam(sqlText)
}

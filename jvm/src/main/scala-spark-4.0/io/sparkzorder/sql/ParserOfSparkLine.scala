// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.types.StructType

/** Parser methods of Spark 4.0, where parameters are bound in the analyzed plan as in 3.5. */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface =>

  override def parseRoutineParam(sqlText: String): StructType = delegate.parseRoutineParam(sqlText)
}

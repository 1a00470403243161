// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.types.DataType

/**
 * An ordering column.
 *
 * @param parts name parts from the top level to the leaf, as the schema spells them
 */
private[sparkzorder] final case class OrderingColumn(parts: Seq[String], dataType: DataType) {

  /** Display name: `a.b`, parts quoted where they need it. */
  def name: String = parts.map { p =>
    if (p.matches("[A-Za-z_][A-Za-z0-9_]*")) p else quoteIdentifier(p)
  }.mkString(".")
}

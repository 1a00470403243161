package io.sparkzorder.util

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier

/** Names in SQL text. */
private[sparkzorder] object SqlNames {

  /** `name` in back quotes. */
  def quoted(name: String): String = quoteIdentifier(name)
}

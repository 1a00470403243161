// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** Names in a setting: separated by commas, quoted as in SQL. */
private[sparkzorder] object NameList {
  private val item = "(?:`(?:[^`]|``)*`|[^`,])+".r

  def split(text: String): Seq[String] =
    item.findAllIn(text).map(_.trim).filter(_.nonEmpty).toSeq
}

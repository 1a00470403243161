// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** Splits a setting at its commas, except inside back quotes. The parts keep their quotes. */
private[sparkzorder] object NameList {
  // a back quote that nothing closes stays, so that whoever parses the name refuses the name
  private val item = "(?:`(?:[^`]|``)*`|[^,])+".r

  def split(text: String): Seq[String] =
    item.findAllIn(text).map(_.trim).filter(_.nonEmpty).toSeq
}

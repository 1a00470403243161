// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.Locale

/** Numbers as text that does not depend on the locale of the JVM. Java's formats use the digits of that locale. */
private[sparkzorder] object Digits {

  /** The number with zeros before it: 7 of width 2 is `07`. */
  def padded(number: Int, width: Int): String = s"%0${width}d".formatLocal(Locale.ROOT, number)
}

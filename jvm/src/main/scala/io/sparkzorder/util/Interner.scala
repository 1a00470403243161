// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.concurrent.ConcurrentHashMap

/**
 * Replaces equal values by one object, to save memory: thousands of files share few schemas and few
 * maps of key-value metadata.
 */
private[sparkzorder] final class Interner {
  private val seen = new ConcurrentHashMap[Any, Any]

  def apply[T](value: T): T = {
    val first = seen.putIfAbsent(value, value)
    (if (first == null) value else first).asInstanceOf[T]
  }
}

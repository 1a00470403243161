package io.sparkzorder.util

import java.util.concurrent.ConcurrentHashMap

/** Lets equal schemas and key-values of thousands of files be one object. */
private[sparkzorder] final class Sharing {
  private val seen = new ConcurrentHashMap[Any, Any]

  def apply[T](value: T): T = {
    val first = seen.putIfAbsent(value, value)
    (if (first == null) value else first).asInstanceOf[T]
  }
}

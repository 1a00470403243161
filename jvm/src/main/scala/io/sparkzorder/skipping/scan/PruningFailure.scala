// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.control.NonFatal

/**
 * Matches errors of an index that must not fail the query, which then reads all files. Besides
 * errors of reading, these are a heap too small for the index, a filter too deep for the stack, and
 * a class or method that another version of a library lacks. Other errors, such as the cancellation
 * of the query or a broken JVM, still stop the query.
 */
private[sparkzorder] object PruningFailure {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case _: OutOfMemoryError | _: StackOverflowError | _: LinkageError => Some(e)
    case NonFatal(_) => Some(e)
    case _ => None
  }
}

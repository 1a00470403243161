// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import scala.util.control.TailCalls.{done, TailRec}

/**
 * Quantifiers for a recursion that takes memory from the heap, and not from the stack of the thread. A table may have
 * a chain of thousands of runs, each of which replaced what the run before it had added.
 *
 * A recursive function of type `TailRec` must put each call to itself into `tailcall`, or begin with one.
 */
private[sparkzorder] object DeepRecursion {

  /** True if `f` is true for all items. After the first item for which it is false, no further item is asked. */
  def forall[A](items: List[A])(f: A => TailRec[Boolean]): TailRec[Boolean] = items match {
    case Nil => done(true)
    case first :: others => f(first).flatMap(if (_) forall(others)(f) else done(false))
  }

  /** True if `f` is true for some item. After the first item for which it is true, no further item is asked. */
  def exists[A](items: List[A])(f: A => TailRec[Boolean]): TailRec[Boolean] = items match {
    case Nil => done(false)
    case first :: others => f(first).flatMap(if (_) done(true) else exists(others)(f))
  }
}

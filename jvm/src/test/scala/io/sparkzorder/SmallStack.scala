// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import scala.util.{Failure, Try}

/** Runs code in a thread with a small stack, where a recursion over thousands of runs would fail. */
object SmallStack {
  private val Bytes = 256L * 1024L

  def apply[T](body: => T): T = {
    @volatile var result: Try[T] = Failure(new IllegalStateException("the thread has died"))
    // `Try` does not catch a StackOverflowError in Scala 2.12
    val work: Runnable = () =>
      result =
        try Try(body)
        catch { case e: StackOverflowError => Failure(e) }
    val thread = new Thread(null, work, "small-stack", Bytes)
    thread.start()
    thread.join()
    result.get
  }
}

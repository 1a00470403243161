// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import scala.util.{Failure, Success, Try}

/** Runs code in a thread with a small stack, where a recursion over thousands of runs would fail. */
object SmallStack {
  private val Bytes = 256L * 1024L

  def apply[T](body: => T): T = {
    @volatile var result: Try[T] = Failure(new IllegalStateException("the thread has died"))
    // ScalaTest ends the whole suite at a StackOverflowError
    val work: Runnable = () =>
      result =
        try Success(body)
        catch {
          case e: StackOverflowError => Failure(new AssertionError("no stack is left", e))
          case e: Throwable => Failure(e)
        }
    val thread = new Thread(null, work, "small-stack", Bytes)
    thread.start()
    thread.join()
    result.get
  }
}

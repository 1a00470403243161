// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import org.scalatest.funsuite.AnyFunSuiteLike
import org.scalatest.tagobjects.Slow

/** Tests of what happens at a step of a run, whichever it is: a kill, or a change by somebody else. */
trait Steps { this: AnyFunSuiteLike =>

  /** `make test` looks at every eighteenth step, and `make test-slow` at all. */
  protected def testSteps(name: String, quick: Int = 18)(body: Int => Unit): Unit = {
    test(s"$name; one step of $quick")(body(quick))
    test(s"$name; each step", Slow)(body(1))
  }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

import org.scalatest.funsuite.AnyFunSuite

/** Notes that wait for their thread. */
class LaterNotesSuite extends AnyFunSuite {

  test("the filters of waiting scans have a bounded number of values") {
    val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
    val made = ConcurrentHashMap.newKeySet[Int]()
    def add(number: Int, values: Int): Unit =
      LaterNotes.add(s"note $number", values) { val _ = made.add(number) }
    try {
      LaterNotes.add("the first note", 1) {
        begun.countDown()
        goOn.await()
      }
      begun.await()
      (1 to 9).foreach(add(_, LaterNotes.MaxValues / 4))
      add(10, 0)
    } finally goOn.countDown()
    LaterNotes.await()
    assert(made.toArray.toSet === Set(1, 2, 3, 10))
    // the values of notes that were made, have failed or were dropped count no more
    LaterNotes.add("a note that fails", LaterNotes.MaxValues)(throw new IllegalStateException("x"))
    LaterNotes.await()
    add(11, LaterNotes.MaxValues)
    LaterNotes.await()
    assert(made.contains(11))
  }
}

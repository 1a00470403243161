// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.security.PrivilegedAction
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import org.apache.hadoop.security.UserGroupInformation
import org.scalatest.funsuite.AnyFunSuite

class ManyFilesSuite extends AnyFunSuite {

  test("the threads work as the user of the caller") {
    for (name <- Seq("ann", "bob")) {
      val user = UserGroupInformation.createRemoteUser(name)
      val seen = user.doAs(new PrivilegedAction[Seq[String]] {
        override def run(): Seq[String] = ManyFiles.map(0 until 100) { _ =>
          Thread.sleep(2)
          UserGroupInformation.getCurrentUser.getUserName
        }
      })
      assert(seen.toSet === Set(name))
    }
  }

  test("an interrupt does not end a call while other threads work for it") {
    val running = new AtomicInteger
    val atWork = new CountDownLatch(2)
    val goOn = new CountDownLatch(1)
    val ended = new AtomicReference[(Throwable, Int)]
    val caller = new Thread(() =>
      try {
        val _ = ManyFiles.map(0 until 100) { _ =>
          running.incrementAndGet()
          if (Thread.currentThread.getName.startsWith("zorder-files")) {
            atWork.countDown()
            goOn.await()
          } else while (atWork.getCount > 0) Thread.sleep(1)
          running.decrementAndGet()
        }
      } catch { case t: Throwable => ended.set(t -> running.get) })
    caller.start()
    assert(atWork.await(1, TimeUnit.MINUTES))
    // the caller has worked on all other items, and waits for the threads
    while (caller.getState != Thread.State.WAITING) Thread.sleep(1)
    caller.interrupt()
    caller.join(200)
    assert(ended.get == null, "the call has ended before its threads")
    goOn.countDown()
    caller.join(TimeUnit.MINUTES.toMillis(1))
    val (thrown, left) = ended.get
    assert(thrown.isInstanceOf[InterruptedException] && left === 0)
  }
}

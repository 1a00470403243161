// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.util.concurrent.{ArrayBlockingQueue, CountDownLatch, ThreadPoolExecutor, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

/**
 * Makes notes that need more than the memory of the driver, in a thread of their own. If too many
 * wait, new ones are lost: a record needs not every scan.
 */
private[sparkzorder] object LaterNotes extends Logging {
  private val MaxWaiting = 1000
  private val MaxWaitSeconds = 30L

  // made when the first note comes
  private lazy val executor = new ThreadPoolExecutor(
    1,
    1,
    0L,
    TimeUnit.SECONDS,
    new ArrayBlockingQueue[Runnable](MaxWaiting),
    (body: Runnable) => {
      val thread = new Thread(body, "zorder-workload-scans")
      thread.setDaemon(true)
      thread
    },
    // a note is lost; who waits for notes goes on
    (body: Runnable, _: ThreadPoolExecutor) =>
      body match {
        case marker: Marker => marker.run()
        case _ =>
      })

  private final class Marker extends Runnable {
    val reached = new CountDownLatch(1)
    override def run(): Unit = reached.countDown()
  }

  @volatile private var isUsed = false

  /** @param what names the scan in a message of the log */
  def add(what: String)(note: => Unit): Unit = {
    isUsed = true
    executor.execute { () =>
      try note
      catch {
        case e @ (_: LinkageError | NonFatal(_)) => logDebug(s"$what was not noted", e)
      }
    }
  }

  /** Waits, for a while, until the notes are made that were added before. */
  def await(): Unit = if (isUsed) {
    val marker = new Marker
    executor.execute(marker)
    val _ = marker.reached.await(MaxWaitSeconds, TimeUnit.SECONDS)
  }
}

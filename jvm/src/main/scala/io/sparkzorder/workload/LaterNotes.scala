// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.util.concurrent.{ArrayBlockingQueue, CountDownLatch, ThreadPoolExecutor, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

/**
 * Makes notes on scans that must read files, in a thread of their own. If too many notes wait, new notes are
 * dropped: the recorded workload need not have every scan.
 */
private[sparkzorder] object LaterNotes extends Logging {
  private val MaxWaiting = 1000
  private val MaxWaitSeconds = 30L

  // lazy: most sessions make no notes
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
    // if the queue is full, a note is dropped, and `await` does not wait
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

  /** Waits until all notes that were added before are made, but not longer than [[MaxWaitSeconds]]. */
  def await(): Unit = if (isUsed) {
    val marker = new Marker
    executor.execute(marker)
    val _ = marker.reached.await(MaxWaitSeconds, TimeUnit.SECONDS)
  }
}

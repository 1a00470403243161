// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.security.PrivilegedAction
import java.util.concurrent.{Executors, ThreadFactory}
import java.util.concurrent.atomic.{
  AtomicBoolean,
  AtomicInteger,
  AtomicReference,
  AtomicReferenceArray
}

import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.sql.SparkSession

/**
 * Applies a function to many files, several at a time, because a call to a file system mostly waits. The calling
 * thread works, too. So the function may itself use this object, and does not wait for a free thread.
 *
 * The other threads belong to a pool, and have no session. So the function must not ask for the current session or
 * for its settings.
 */
private[sparkzorder] object ManyFiles {
  private val Threads = 16

  /**
   * The number of files that a listing returns in the time that the status of one file takes. A call of a
   * listing returns 1,000 files, and 16 statuses are read at once, so this is about 1,000 / 16.
   */
  private val ListedPerStatus = 64L

  /** For fewer items than this, threads are not worth their cost. */
  private val Few = 16

  private lazy val pool = Executors.newFixedThreadPool(
    Threads - 1,
    new ThreadFactory {
      private val number = new AtomicInteger
      override def newThread(body: Runnable): Thread = {
        // a thread inherits the session and the class loader of its maker, and would keep them for ever
        val work: Runnable = () => {
          SparkSession.clearActiveSession()
          body.run()
        }
        val thread = new Thread(work, s"zorder-files-${number.incrementAndGet()}")
        thread.setContextClassLoader(getClass.getClassLoader)
        thread.setDaemon(true)
        thread
      }
    })

  /** True if `some` calls, each for the status of one file, take less time than a listing of `all` files. */
  def areFew(some: Int, all: Int): Boolean = some * ListedPerStatus < all

  /**
   * Returns the results in the order of the items. If a call fails, throws the first failure after
   * all running calls have ended.
   */
  def map[A, B](items: Seq[A])(f: A => B): Seq[B] =
    if (items.size < Few) items.map(f)
    else {
      val results = new AtomicReferenceArray[Option[B]](items.size)
      each(items.toIndexedSeq, (i: Int, item: A) => results.set(i, Some(f(item))), () => false)
      items.indices.map(results.get(_).get)
    }

  /** Divides the items into enough parts to keep all threads busy, for work that goes through a part in order. */
  def shares[A](items: Seq[A]): Seq[Seq[A]] =
    if (items.size < Few) Seq(items).filter(_.nonEmpty)
    else items.grouped(items.size / Threads).toSeq

  /**
   * Returns the first problem among those found. After a problem is found, no further item is
   * begun.
   */
  def firstProblem[A](items: Seq[A])(f: A => Option[String]): Option[String] =
    if (items.size < Few) items.iterator.flatMap(f(_)).take(1).toList.headOption
    else {
      val problems = new AtomicReferenceArray[String](items.size)
      val found = new AtomicBoolean
      each(
        items.toIndexedSeq,
        (i: Int, item: A) =>
          f(item).foreach { p =>
            problems.set(i, p)
            found.set(true)
          },
        () => found.get)
      items.indices.iterator.map(problems.get).find(_ != null)
    }

  private def each[A](items: IndexedSeq[A], f: (Int, A) => Unit, isOver: () => Boolean): Unit = {
    val next = new AtomicInteger
    val failure = new AtomicReference[Throwable]
    val workers = new Workers
    // A thread of the pool runs as the user for whom the thread was made. Hadoop gives each user other file systems.
    val user = UserGroupInformation.getCurrentUser
    def asCaller(body: => Unit): Unit =
      user.doAs(new PrivilegedAction[Unit] { override def run(): Unit = body })
    def work(): Unit =
      try {
        var i = next.getAndIncrement()
        while (i < items.size && failure.get == null && !isOver()) {
          f(i, items(i))
          i = next.getAndIncrement()
        }
      } catch { case t: Throwable => failure.compareAndSet(null, t) }
    (1 until math.min(Threads, items.size)).foreach { _ =>
      pool.submit(new Runnable { override def run(): Unit = workers.join(asCaller(work())) })
    }
    work()
    // an interrupt ends the work, but running calls end first, because the caller may undo their changes
    if (workers.close(interrupt => failure.compareAndSet(null, interrupt))) {
      // an earlier failure is thrown instead of the interrupt, which the flag of the thread keeps for the next wait
      if (!failure.get.isInstanceOf[InterruptedException]) Thread.currentThread().interrupt()
    }
    Option(failure.get).foreach(throw _)
  }

  /** The threads that work on some items. A thread that has not begun before [[close]] never begins. */
  private final class Workers {
    private var active = 0
    private var closed = false

    def join(work: => Unit): Unit = {
      val begins = synchronized {
        if (!closed) active += 1
        !closed
      }
      if (begins) {
        try work
        finally synchronized {
            active -= 1
            notifyAll()
          }
      }
    }

    /**
     * Lets no further thread begin, and waits until no thread works, also when this thread is interrupted.
     *
     * @param onInterrupt called for each interrupt
     * @return true if this thread was interrupted
     */
    def close(onInterrupt: InterruptedException => Unit): Boolean = synchronized {
      closed = true
      var isInterrupted = false
      while (active > 0) {
        try wait()
        catch {
          case e: InterruptedException =>
            isInterrupted = true
            onInterrupt(e)
        }
      }
      isInterrupted
    }
  }
}

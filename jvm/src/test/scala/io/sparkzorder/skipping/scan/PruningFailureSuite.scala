// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression, Literal, Or}

import io.sparkzorder.skipping.SkippingTestBase

/** An error while an index is asked makes no query fail: it reads all of its files. */
class PruningFailureSuite extends SkippingTestBase {

  test("a filter that is nested too deeply for the stack") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i"), sql("SELECT 2 i"))
      createIndex(dir)
      val scan = scanOf(read(dir).where("i = 1"))
      val one = EqualTo(scan.output.head, Literal(1))
      val deep = (1 to 200000).foldLeft[Expression](one)((e, _) => Or(e, one))
      val before = IndexPruning.failureCount
      val log = new LogAppender("skipping")
      withLogAppender(log)(assert(scan.kept(Seq(deep)).size === 2))
      assert(IndexPruning.failureCount > before)
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
        .filter(_.contains(s"the index of file:$dir"))
      // the keys of a join may fail while other filters of the query prune
      assert(lines.size === 1 && lines.head.contains("not used for some filters"), lines)
      assert(scan.kept().size === 1)
    }
  }

  test("which errors are the index's and not the query's") {
    def isOfIndex(e: Throwable) = e match {
      case PruningFailure(_) => true
      case _ => false
    }
    for (e <- Seq(
        new java.io.IOException,
        new RuntimeException,
        new StackOverflowError,
        new OutOfMemoryError,
        new NoSuchMethodError,
        new NoClassDefFoundError,
        new ExceptionInInitializerError(new RuntimeException))) assert(isOfIndex(e), e)
    // a query that is cancelled, or a JVM that is broken, stops
    for (e <- Seq(new InterruptedException, new InternalError)) assert(!isOfIndex(e), e)
  }
}

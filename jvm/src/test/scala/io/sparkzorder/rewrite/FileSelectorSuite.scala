// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.LongType

import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileRange

/** Which files of two passes a later statement takes up, without any file. */
class FileSelectorSuite extends AnyFunSuite {
  private val layout = LayoutTag("a, b", "a\nb", 1000L, Nil, "run")
  private val folder = new FormatFolder("", 0)

  private case class Given(
      path: String,
      a: (Long, Long),
      b: (Long, Long),
      at: Option[Long],
      override val dealt: Option[DealtTo] = None,
      override val finishedPlan: Option[String] = None,
      tag: LayoutTag = layout,
      override val writtenAt: Long = 0L)
      extends FormatFile {
    override def folder: FormatFolder = FileSelectorSuite.this.folder
    override def bytes: Long = 1000L
    override def records: Long = 1000L
    override def columns: IndexedSeq[FileColumnInfo] =
      IndexedSeq(a, b).map(r => FileColumnInfo(FileRange(r._1, r._2), 100L, 1000L))
    override def commit: Option[Long] = at
    override def layout: Option[LayoutTag] = at.map(_ => tag)
  }

  private def select(all: Seq[Given], wanted: LayoutTag = layout): Seq[String] =
    selection(all, wanted).files.map(_.path)

  private def selection(all: Seq[Given], wanted: LayoutTag): Selection = {
    val snapshot: TableSnapshot = new TableSnapshot {
      override def columns = Seq("a", "b").map(c => OrderingColumn(Seq(c), LongType))
      override def layoutKey = layout.key
      override def files = all.toIndexedSeq
      override def leftOut = Nil
      override def check(batches: Seq[IndexedSeq[FormatFile]], room: Long) = ()
      override def rows(session: Session, files: IndexedSeq[FormatFile]) = fail()
      override def finish(done: Seq[Rewritten], statement: Statement) = ()
      override def effort(plans: Seq[BatchPlan]) = fail()
    }
    new FileSelector(snapshot, wanted).select(all.toIndexedSeq)
  }

  /** An ideal layout of 80 regions, each of four files and of a commit of its own. */
  private def regions(plan: String): Seq[Given] =
    for (r <- 0 until 80; f <- 0 until 4) yield {
      val (x, y) = ((r % 10) * 2 + f % 2, (r / 10) * 2 + f / 2)
      Given(
        s"region-$r-$f",
        (x * 100L, x * 100L + 99),
        (y * 100L, y * 100L + 99),
        Some(r + 1L),
        finishedPlan = Some(plan).filter(_.nonEmpty))
    }

  test("a compaction selects the files that it joins, in groups without a file alone") {
    def joined(megabytes: Long*): Seq[Long] = {
      val files = megabytes.map { mb =>
        new FormatFile {
          override def path: String = s"$mb"
          override def folder: FormatFolder = FileSelectorSuite.this.folder
          override def bytes: Long = mb
          override def records: Long = 1L
          override def columns: IndexedSeq[FileColumnInfo] = IndexedSeq.empty
          override def commit: Option[Long] = None
          override def layout: Option[LayoutTag] = None
        }
      }
      val planner = new CompactPlanner(targetBytes = 100L, copyAll = false)
      val selected = planner.selectAll(files.toIndexedSeq).files
      assert(planner.rewritable(selected) === selected)
      assert(planner.parts(selected, 1L).get.forall(_.size > 1))
      selected.map(_.bytes)
    }
    // without the file of 74, the first three fill a file, and the one of 60 is alone
    assert(joined(40, 30, 74, 28, 60) === Seq(40, 30, 28))
    assert(joined(40, 30, 20) === Seq(40, 30, 20))
    assert(joined(60, 70, 80) === Nil)
  }

  private val fresh = Given("new", (0L, 1999L), (0L, 1599L), None)

  test("the batches of one plan are one run: a new file does not merge the smallest of them") {
    assert(select(regions("plan") :+ fresh) === Seq("new"))
    // more than 64 runs of their own are merged
    assert(select(regions("") :+ fresh).size > 4)
    assert(select(regions("plan")) === Nil)
  }

  test("dealt files wait for the second pass, whatever else there is") {
    val dealt = Seq(
      Given("dealt", (0L, 9L), (0L, 9L), Some(90L), dealt = Some(DealtTo("other", 3))),
      // rows of one key are final when they are dealt
      Given("heavy", (5L, 5L), (5L, 5L), Some(91L), dealt = Some(DealtTo("other", 0))))
    assert(select(regions("plan") ++ dealt) === Seq("dealt"))
    assert(select(regions("plan") ++ dealt :+ fresh) === Seq("dealt", "new"))
    assert(select(dealt) === Seq("dealt"))
    // inputs of the first pass are not left out, whatever their order is; later ones are inserts
    val insert = for (x <- 0 until 3; y <- 0 until 3) yield Given(
      s"insert-$x-$y",
      (x * 100L, x * 100L + 99),
      (y * 100L, y * 100L + 99),
      None).copy(at = Some(-5L), tag = layout.copy(key = "none"))
    assert(select(insert ++ dealt).size === insert.size + 1)
    val begun = dealt.map(f => f.copy(dealt = f.dealt.map(_.copy(plan = "plan"))))
    assert(select(regions("plan") ++ insert ++ begun) === Seq("dealt"))
    // another layout takes them as it takes any file
    val all = regions("plan") ++ dealt
    assert(select(all, layout.copy(weights = Seq(1, 2))) === all.map(_.path))
  }

  test(
    "the reason names the latest of several other layouts, whatever the numbers of the commits are") {
    def file(columns: String, commit: Long, writtenAt: Long, sinceMs: Long) = Given(
      columns,
      (0L, 9L),
      (0L, 9L),
      Some(commit),
      tag = layout.copy(columns = columns, key = columns, sinceMs = sinceMs),
      writtenAt = writtenAt)
    def reason(files: Given*): Option[String] = selection(files, layout).reason
    // the number of a commit of Delta is a part of a random UUID
    val ofDelta = Seq(file("x", 900L, 1L, 0L), file("y", -5L, 2L, 7L))
    assert(reason(ofDelta: _*) === Some("its layout was by (y): all files are rewritten"))
    // in version 1 of Iceberg, no file has a time, and the number of a commit is a hash
    val ofIceberg = Seq(file("x", 900L, 0L, 3L), file("y", -5L, 0L, 7L))
    assert(reason(ofIceberg: _*) === Some("its layout was by (y): all files are rewritten"))
    val ofPlain = Seq(file("x", 2L, 0L, 0L), file("y", 1L, 0L, 0L))
    assert(reason(ofPlain: _*) === Some("its layout was by (x): all files are rewritten"))
  }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.DoubleType

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileRange, FileSpan}

/**
 * The rule on made-up files, whose rows fill boxes: 64 equal inserts without any order, and after each
 * the OPTIMIZE that the rule asks for, which cuts what it rewrites into boxes of equal size.
 */
class MergeRuleSuite extends AnyFunSuite {
  private val target = 1000000L
  private val inserts = 64

  /** @param run that made the file, None for an insert */
  private case class Boxed(run: Option[String], low: Seq[Double], high: Seq[Double])

  /**
   * @param written bytes that OPTIMIZE wrote, over those that were inserted
   * @param excess after each OPTIMIZE
   */
  private case class Outcome(written: Double, excess: Seq[Double]) {
    def mean: Double = excess.sum / excess.size
    override def toString: String =
      f"each byte was written $written%.2f times, excess: mean $mean%.2f, largest ${excess.max}%.2f"
  }

  /**
   * @param batch files that one shuffle takes; more take two passes, which write each byte twice
   * @param most files that two passes take
   */
  private def simulate(
      columns: Int,
      filesOfInsert: Int,
      every: Int = 1,
      dealt: Boolean = false,
      batch: Int = Int.MaxValue,
      most: Int = Int.MaxValue): Outcome = {
    val names = (0 until columns).map(c => s"c$c")
    val rule = new MergeRule(
      names.map(n => OrderingColumn(Seq(n), DoubleType)),
      target,
      mostBytes = most * target)
    var files = IndexedSeq.empty[Boxed]
    var written = 0L
    val excess = (1 to inserts).flatMap { i =>
      val whole = Boxed(None, Seq.fill(columns)(0.0), Seq.fill(columns)(1.0))
      val boxes = if (dealt) cut(whole, filesOfInsert) else Seq.fill(filesOfInsert)(whole)
      val name = if (dealt) Some(s"insert$i") else None
      val now = files ++ boxes.map(_.copy(run = name))
      if (i % every != 0) {
        files = now
        Nil
      } else {
        val all = ruled(now)
        val inserted = now.flatMap(_.run).filter(_.startsWith("insert")).toSet
        inserted.foreach { n =>
          assert(rule.isGoodInsert(ruled(now.filter(_.run.contains(n))), rule.excess(all)))
        }
        val taken = rule.choose(all, now.map(_.run), inserted)
        assert(taken.size <= most)
        written += taken.size * target * (if (taken.size > batch) 2 else 1)
        val run = if (taken.isEmpty) Nil else cut(whole.copy(run = Some(s"run$i")), taken.size)
        files = now.indices.filterNot(taken).map(now) ++ run
        Some(overlap(columns, files))
      }
    }
    assert(files.forall(_.run.isDefined) && files.size === inserts * filesOfInsert)
    Outcome(written.toDouble / (inserts * filesOfInsert * target), excess)
  }

  /** `n` boxes of equal size: halves, by the widest side. */
  private def cut(box: Boxed, n: Int): Seq[Boxed] =
    if (n == 1) Seq(box)
    else {
      val c = box.low.indices.maxBy(c => (box.high(c) - box.low(c), -c))
      val at = box.low(c) + (box.high(c) - box.low(c)) * (n / 2) / n
      cut(box.copy(high = box.high.updated(c, at)), n / 2) ++
        cut(box.copy(low = box.low.updated(c, at)), n - n / 2)
    }

  /** Files of a point query, as a mean over columns and values, beside the ideal. */
  private def overlap(columns: Int, files: Seq[Boxed]): Double = {
    val mean =
      (0 until columns).map(c => files.map(f => f.high(c) - f.low(c)).sum).sum / columns
    mean / math.pow(files.size, 1 - 1.0 / columns)
  }

  private def ruled(files: Seq[Boxed]): RuledFiles = {
    val columns = files.head.low.indices
    new RuledFiles(
      files.map(_ => target).toIndexedSeq,
      files.map(_ => 10000L).toIndexedSeq,
      // a cut lies between values: neighbours share none
      columns.map(c =>
        FileSpan.ofRanges(
          DoubleType,
          files.map(f => FileRange(f.low(c), f.high(c) - 1e-6)).toIndexedSeq)))
  }

  for {
    columns <- 2 to 4
    files <- Seq(1, 4)
  } test(s"$columns columns, $files files an insert: at most 4 rewrites, mean excess at most 2.0") {
    val outcome = simulate(columns, files)
    info(outcome.toString)
    assert(outcome.written <= 4.0)
    assert(outcome.mean <= 2.0)
    assert(outcome.excess.max <= 2.1)
  }

  test("merges above a batch take two passes, and none is above what two passes can do") {
    for ((parts, most) <- Seq((4, 6.0), (16, 7.5), (64, 8.0))) {
      val outcome = simulate(2, 4, batch = inserts * 4 / parts)
      info(s"a batch of 1/$parts of the table: $outcome")
      assert(outcome.written <= most)
      assert(outcome.excess.max <= 2.1)
    }
    for (parts <- Seq(2, 4, 8)) {
      val outcome = simulate(2, 4, most = inserts * 4 / parts)
      info(s"two passes for 1/$parts of the table: $outcome")
      assert(outcome.written <= 8.0)
      assert(outcome.mean <= 3.0)
    }
  }

  test(
    "what two passes cannot lay out is no choice, and the other choices are judged by their gain") {
    val whole = Boxed(None, Seq(0.0, 0.0), Seq(1.0, 1.0))
    val sizes = Seq("large" -> 64, "middle" -> 12, "small" -> 8, "smaller" -> 6, "smallest" -> 4)
    val runs = sizes.flatMap { case (name, n) => cut(whole.copy(run = Some(name)), n) }
    val files = runs ++ Seq.fill(6)(whole)
    val names = Seq("a", "b").map(n => OrderingColumn(Seq(n), DoubleType))
    def chosen(most: Int) =
      new MergeRule(names, target, mostBytes = most * target)
        .choose(ruled(files), files.map(_.run).toIndexedSeq).map(files(_).run)
    val all = chosen(1000)
    assert(all.contains(None))
    assert(chosen(6) === Set(None))
    assert(chosen(3) === Set(None), "new files are laid out whatever else")
    assert(chosen(10) === Set(None, Some("smallest")))
    assert(!chosen(30).contains(Some("large")))
  }

  test(
    "without new files, a run above the greatest number of runs is merged with another, not alone") {
    val names = Seq("a", "b").map(n => OrderingColumn(Seq(n), DoubleType))
    for ((n, merged) <- Seq(64 -> 0, 65 -> 2, 70 -> 7)) {
      val files = cut(Boxed(None, Seq(0.0, 0.0), Seq(1.0, 1.0)), n).zipWithIndex
        .map { case (b, i) => b.copy(run = Some(s"run$i")) }
      val chosen = new MergeRule(names, target)
        .choose(ruled(files), files.map(_.run).toIndexedSeq, inserts = Set("run0"))
      assert(chosen.size === merged, s"$n runs")
    }
  }

  for (files <- Seq(4, 16)) {
    test(
      s"inserts of $files files that are dealt well: few rewrites with an OPTIMIZE after each 8") {
      val outcome = simulate(2, files, every = 8, dealt = true)
      info(outcome.toString)
      assert(outcome.written <= 1.5)
      assert(outcome.mean <= 2.0)
      assert(outcome.excess.max <= 2.1)
    }
  }

  test("inserts of later times, which the grid does not cut, stay while the folder is good") {
    val names = Seq("time", "b")
    val rule =
      new MergeRule(names.map(n => OrderingColumn(Seq(n), DoubleType)), target)
    val run = cut(Boxed(Some("run"), Seq(0.0, 0.0), Seq(1.0, 1.0)), 16)
    def later(k: Int, own: Seq[Boxed]) =
      own.map(b => b.copy(low = b.low.updated(0, k.toDouble), high = b.high.updated(0, k + 1.0)))
    val slices = (0 until 8).map(i => Boxed(None, Seq(0.0, i / 8.0), Seq(1.0, (i + 1) / 8.0)))
    val unordered = Seq.fill(8)(Boxed(None, Seq(0.0, 0.0), Seq(1.0, 1.0)))
    def isGoodInsert(own: Seq[Boxed], ofFolder: Seq[Boxed]) =
      rule.isGoodInsert(ruled(own), rule.excess(ruled(ofFolder)))
    // by themselves the slices read 8 files by time and 1 by b, where 2.8 are ideal
    assert(!isGoodInsert(slices, slices))
    val drifted = (1 to 4).scanLeft(run)((all, k) => all ++ later(k, slices)).tail
    drifted.foreach(all => assert(isGoodInsert(all.takeRight(8), all)))
    // in the same time they are in the way of others
    assert(!isGoodInsert(slices, run ++ slices ++ slices))
    assert(!isGoodInsert(later(1, unordered), run ++ later(1, unordered)))
  }

  test("one column: few rewrites, for more excess") {
    val outcome = simulate(1, 1)
    info(outcome.toString)
    assert(outcome.written <= 4.0)
    assert(outcome.mean <= 4.0)
  }

  test("without new files nothing is chosen") {
    val rule = new MergeRule(Seq(OrderingColumn(Seq("c0"), DoubleType)), target)
    val same = Boxed(Some("run"), Seq(0.0), Seq(1.0))
    assert(rule.choose(ruled(Seq.fill(10)(same)), Vector.fill(10)(same.run)) === Set())
  }
}

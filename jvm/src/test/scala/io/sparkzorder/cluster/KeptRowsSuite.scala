// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.util.Random

import org.scalactic.Tolerance
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.types.{DataType, DoubleType, IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange, FileSpan}

/**
 * New rows are cut by sides that all rows of the folder measure. The suite simulates a table that grows
 * by 64 appends (16 for each change) with an OPTIMIZE after each, by the product's own cuts and its own merge rule.
 */
class KeptRowsSuite extends AnyFunSuite with RandomInputs with Tolerance {
  private val rowsOfFile = 100
  private val filesOfAppend = 16

  private type Rows = IndexedSeq[Array[Double]]

  /** @param run that made the file, None for an append */
  private case class Made(run: Option[String], rows: Rows) {
    def range(c: Int): FileRange = FileRange(rows.map(_(c)).min, rows.map(_(c)).max)
  }

  /**
   * @param rewritten rows of earlier runs that were written again, for each appended row
   * @param excess after each OPTIMIZE
   */
  private case class Outcome(rewritten: Double, excess: IndexedSeq[Double]) {
    def mean: Double = excess.sum / excess.size
    override def toString: String = f"$rewritten%.2f rewritten of an appended row, excess: " +
      f"mean $mean%.2f, largest ${excess.max}%.2f"
  }

  private def cut(rows: Rows, kept: IndexedSeq[Made], name: String): IndexedSeq[Made] = {
    val d = rows.head.length
    val own = (0 until d).map(c => KeyColumns.of(DoubleType, rows.map(_(c))).ranked)
    val columns =
      if (kept.isEmpty) own
      else own.indices.map(c => own(c).among(rows.size.toLong, keptColumn(kept, c)))
    val wanted = math.max(1, math.round(rows.size.toDouble / rowsOfFile).toInt)
    val cuts = new KdCuts(columns, RowSizes.even.of(columns), wanted).build()
    rows.indices.groupBy { r =>
      if (cuts.nodes.isEmpty) 0
      else {
        var node = 0
        while (node >= 0) {
          val n = cuts.nodes(node)
          node = if (columns(n.column).ranks(r) >= n.rank) n.right else n.left
        }
        ~node
      }
    }.values.map(of => Made(Some(name), of.map(rows))).toIndexedSeq
  }

  private def keptColumn(kept: IndexedSeq[Made], c: Int): KeptColumn =
    KeptColumn(kept.map(_.range(c)), kept.map(_.rows.size.toLong), 0L)

  private def ruled(files: IndexedSeq[Made], d: Int): RuledFiles = new RuledFiles(
    files.map(_.rows.size.toLong),
    files.map(_.rows.size.toLong),
    (0 until d).map(c => FileSpan.ofRanges(DoubleType, files.map(_.range(c)))))

  private def excessOf(files: IndexedSeq[Made], d: Int): Double = {
    val mean = (0 until d).map { c =>
      val all = files.flatMap(_.rows.map(_(c))).toArray
      java.util.Arrays.sort(all)
      def below(v: Double) = {
        val at = java.util.Arrays.binarySearch(all, v)
        if (at < 0) ~at else at
      }
      files.map { f =>
        val FileRange(min: Double, max: Double) = f.range(c)
        (below(java.lang.Math.nextUp(max)) - below(min)).toDouble / all.length
      }.sum
    }.sum / d
    mean / math.pow(files.map(_.rows.size).sum.toDouble / rowsOfFile, 1 - 1.0 / d)
  }

  private def simulate(all: Rows, byTable: Boolean, appends: Int): Outcome = {
    val d = all.head.length
    val rule = new MergeRule(
      (0 until d).map(c => OrderingColumn(Seq(s"c$c"), DoubleType)),
      rowsOfFile.toLong)
    var files = IndexedSeq.empty[Made]
    var rewritten = 0L
    val excess = all.grouped(all.size / appends).toIndexedSeq.zipWithIndex.map { case (rows, i) =>
      val now = files ++ rows.grouped(rows.size / filesOfAppend).map(Made(None, _))
      val taken = rule.choose(ruled(now, d), now.map(_.run))
      val (chosen, kept) = now.indices.partition(taken)
      rewritten += chosen.map(now).filter(_.run.isDefined).map(_.rows.size).sum
      files = kept.map(now) ++
        cut(chosen.flatMap(now(_).rows), if (byTable) kept.map(now) else Vector.empty, s"run$i")
      excessOf(files, d)
    }
    Outcome(rewritten.toDouble / all.size, excess)
  }

  /** Rows in the order in which they come; the first column of `drift` is the time. */
  private def rows(kind: String, d: Int, appends: Int, random: Random): Rows = {
    val n = appends * filesOfAppend * rowsOfFile
    val plain = IndexedSeq.fill(n)(Array.fill(d)(random.nextDouble()))
    if (kind == "equal") plain
    else {
      def delay = {
        val usual = -0.002 * math.log(1 - random.nextDouble())
        if (kind == "late" && random.nextDouble() < 0.02) usual + 0.25 * random.nextDouble()
        else usual
      }
      plain.map(r => (r(0) + delay, r)).sortBy(_._1).map(_._2)
    }
  }

  for {
    (kind, d, rewritten, mean, appends, tags) <- Seq(
      ("drift", 2, 0.1, 1.6, 64, Seq(Slow)),
      ("drift", 3, 0.1, 1.6, 64, Seq(Slow)),
      ("equal", 2, 2.4, 1.8, 16, Nil),
      ("equal", 2, 2.4, 1.8, 64, Seq(Slow)),
      ("equal", 3, 1.2, 1.8, 64, Seq(Slow)),
      ("late", 2, 1.0, 1.8, 64, Seq(Slow)))
  } test(
    s"$appends $kind appends by $d columns: at most $rewritten rewritten, mean excess at most $mean",
    tags: _*) {
    val all = rows(kind, d, appends, new Random(7))
    val table = simulate(all, byTable = true, appends)
    // nothing is asked of these
    if (tags.nonEmpty) info(s"by its own ranks: ${simulate(all, byTable = false, appends)}")
    info(s"by those of the table: $table")
    assert(table.rewritten <= rewritten)
    assert(table.mean <= mean)
  }

  private def column(dataType: DataType, values: Any*) =
    KeyColumns.of(dataType, values).ranked

  test("without kept rows the shares are those of the sample") {
    withRandom { random =>
      val own = column(
        IntegerType,
        Seq.fill(200)(if (random.nextInt(5) == 0) null else random.nextInt(50)): _*)
      val same = own.among(2000L, KeptColumn(IndexedSeq.empty, IndexedSeq.empty, 0L))
      val last = own.distinct.length
      for (low <- 0 to last; high <- low to last) {
        assert(same.share(low, high) === own.share(low, high) +- 1e-9)
        if (low > 0) assert(same.shareOfValues(low, high) === own.shareOfValues(low, high) +- 1e-9)
      }
    }
  }

  test("kept rows count where they lie: below, above, within, in a gap, NULL, anywhere") {
    val own = column(IntegerType, 10, 20, 30, 40)
    def shares(range: ColumnRange, nulls: Long = 0L) = {
      // 4 own rows, 12 kept ones
      val c = own.among(4L, KeptColumn(IndexedSeq(range), IndexedSeq(12L - nulls), nulls))
      assert(c.share(0, 4) <= 1.0 + 1e-9)
      (c.share(1, 4) * 16, c.share(1, 2) * 16, c.share(3, 4) * 16)
    }
    assert(shares(FileRange(0, 5)) === ((4.0, 2.0, 2.0)))
    assert(shares(FileRange(50, 99)) === ((4.0, 2.0, 2.0)))
    assert(shares(FileRange(20, 20)) === ((16.0, 14.0, 2.0)))
    // between the second and the third value: a part of a cell of both, of no cell that ends there
    assert(shares(FileRange(23, 27)) === ((16.0, 2.0, 2.0)))
    assert(shares(ColumnRange.Empty, 12L) === ((4.0, 2.0, 2.0)))
    assert(shares(ColumnRange.Unknown) === ((16.0, 8.0, 8.0)))
    // a third of the values from 25 to 55 is above all own ones
    val (all, left, right) = shares(FileRange(25, 55))
    assert(all === 4 + 6.0 +- 1e-9)
    assert(left === 2.0 +- 1e-9)
    assert(right === 8.0 +- 1e-9)
  }

  test("strings, and values that are no numbers") {
    def text(s: String) = UTF8String.fromString(s)
    val own = column(StringType, text("f"), text("m"))
    val kept = KeptColumn(IndexedSeq(FileRange(text("a"), text("z"))), IndexedSeq(6L), 0L)
    assert(own.among(2L, kept).share(1, 2) * 8 === 4.0 +- 1e-9)
    val nan = column(DoubleType, 1.0, Double.NaN)
    for (max <- Seq(Double.NaN, Double.PositiveInfinity, 2.0)) {
      val among = KeptColumn(IndexedSeq(FileRange(-1.0, max)), IndexedSeq(6L), 0L)
      val share = nan.among(2L, among).share(1, 2)
      assert(share > 0.25 && share <= 1.0)
    }
    val nulls = column(IntegerType, null, null)
    val one = KeptColumn(IndexedSeq(FileRange(1, 2)), IndexedSeq(6L), 2L)
    assert(nulls.among(2L, one).share(0, 0) === 0.4 +- 1e-9)
  }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.numberOfTrailingZeros
import java.util.BitSet

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

import io.sparkzorder.index.{ByteStats, LongStats, StatValues}
import io.sparkzorder.skipping.values.{Extent, ResultsOfColumns}

/** How two values may compare in a row that matches: the first may be less, equal or greater. */
private[predicate] final case class PairRelation(less: Boolean, equal: Boolean, greater: Boolean) {
  def negated: PairRelation = PairRelation(!less, !equal, !greater)
}

private[predicate] object PairRelation {

  /** None for `<=>`, in which NULL can match, and for unknown comparisons. */
  def of(c: BinaryComparison): Option[PairRelation] = c match {
    case _: LessThan => Some(PairRelation(less = true, equal = false, greater = false))
    case _: LessThanOrEqual => Some(PairRelation(less = true, equal = true, greater = false))
    case _: GreaterThan => Some(PairRelation(less = false, equal = false, greater = true))
    case _: GreaterThanOrEqual => Some(PairRelation(less = false, equal = true, greater = true))
    case _: EqualTo => Some(PairRelation(less = false, equal = true, greater = false))
    case _ => None
  }
}

/** A test that looks at the files one by one. */
private[predicate] abstract class TestOfEachFile extends FileTest {

  /** @param i number of a file */
  protected def mayMatch(i: Int): Boolean

  override def restrict(words: Array[Long], from: Int): Unit = {
    var w = 0
    while (w < words.length) {
      var left = words(w)
      while (left != 0) {
        val bit = java.lang.Long.lowestOneBit(left)
        if (!mayMatch((from + w) * 64 + numberOfTrailingZeros(bit))) words(w) &= ~bit
        left ^= bit
      }
      w += 1
    }
  }
}

/**
 * A comparison of two columns. A file may hold a match if the comparison holds for some value within the
 * bounds of one column and some value within those of the other.
 */
private[predicate] final class PairTest(
    a: ColumnDomains,
    b: ColumnDomains,
    relation: PairRelation,
    hasNaN: Boolean)
    extends TestOfEachFile {
  import ColumnDomains._

  override protected def mayMatch(i: Int): Boolean = {
    val (ofA, ofB) = (a.info(i), b.info(i))
    def has(bit: Int) = (ofA & ofB & bit) != 0
    if (((ofA | ofB) & NoValues) != 0) false
    else if (!has(Bounded) || (hasNaN && !has(NoNaN))) true
    else {
      val low = compare(a.min, b.max, i)
      val high = compare(a.max, b.min, i)
      relation.less && low < 0 || relation.greater && high > 0 ||
      relation.equal && low <= 0 && high >= 0
    }
  }

  /** Compares a bound of one column in file `i` with a bound of the other column in the same file. */
  private def compare(left: StatValues, right: StatValues, i: Int): Int = (left, right) match {
    case (LongStats(x), LongStats(y)) => java.lang.Long.compare(x(i), y(i))
    case (ByteStats(x), ByteStats(y)) => x.compare(i, y(i))
    case _ => throw new IllegalArgumentException("bounds of two kinds")
  }
}

/**
 * A predicate on an expression with several columns, which is evaluated for the bounds that the columns have
 * in a block of files, and then in a file.
 *
 * @param columns with their types
 * @param inFile decides whether a row can match if the values of the columns lie within given bounds
 */
private[predicate] final class SeveralTest(
    columns: Seq[(ColumnDomains, DataType)],
    inFile: ResultsOfColumns)
    extends TestOfEachFile {
  import ColumnDomains._
  import SeveralTest._

  private val count = columns.head._1.count
  private val blockWords = columns.head._1.blockWords

  // the results so far, because a filter may ask for the same file several times
  private val (tested, kept) = (new BitSet(count), new BitSet(count))
  private var evaluations = 0

  override def restrict(words: Array[Long], from: Int): Unit =
    synchronized(super.restrict(words, from))

  private val testedBlocks = new BitSet

  override protected def mayMatch(i: Int): Boolean = {
    val block = (i >> 6) / blockWords
    if (!testedBlocks.get(block) && count > MinFilesForBlocks && mayEvaluate()) {
      testedBlocks.set(block)
      val files = block * blockWords * 64
      if (!inFile.mayMatch(columns.map { case (c, t) => extentOfBlock(c, t, block) })) {
        tested.set(files, math.min(count, files + blockWords * 64))
      }
    }
    if (!tested.get(i)) {
      if (mayEvaluate()) {
        tested.set(i)
        if (inFile.mayMatch(columns.map { case (c, t) => extentOfFile(c, t, i) })) kept.set(i)
      } else kept.set(i)
    }
    !tested.get(i) || kept.get(i)
  }

  /** Counts an evaluation. False if there were so many that further evaluations would cost more than they save. */
  private def mayEvaluate(): Boolean = {
    evaluations += 1
    evaluations <= MaxEvaluations
  }

  private def extentOfFile(c: ColumnDomains, t: DataType, i: Int): Extent = {
    val info = c.info(i)
    def has(bit: Int) = (info & bit) != 0
    if (has(NoValues)) Extent.OnlyNull
    else if (!has(Bounded) || isReal(t) && !has(NoNaN)) Extent.Anything
    else extent(c, t, i, i, mayBeNull = !has(NoNulls))
  }

  private def extentOfBlock(c: ColumnDomains, t: DataType, block: Int): Extent = {
    val words = block * blockWords until math.min((block + 1) * blockWords, c.bounded.length)
    def all(known: Int => Long) = words.forall { w =>
      val files = FileTest.window(count, w, w + 1)(0)
      (known(w) & files) == files
    }
    def isKnown(w: Int) = {
      val bounds = if (isReal(t)) c.bounded(w) & c.noNaN(w) else c.bounded(w)
      bounds | c.noValues(w)
    }
    if (all(c.noValues(_))) Extent.OnlyNull
    else if (!all(isKnown)) Extent.Anything
    else c.blocks match {
      case b: LongBlocks =>
        Extent.ofLongs(t, b.leastMin(block), b.greatestMax(block), !all(c.noNulls(_)))
      case b: ByteBlocks =>
        extent(c, t, b.leastMin(block), b.greatestMax(block), !all(c.noNulls(_)))
      case NoBlocks => Extent.Anything
    }
  }

  private def extent(c: ColumnDomains, t: DataType, low: Int, high: Int, mayBeNull: Boolean) =
    (c.min, c.max) match {
      case (LongStats(min), LongStats(max)) => Extent.ofLongs(t, min(low), max(high), mayBeNull)
      case (ByteStats(min), ByteStats(max)) => Extent.ofBytes(t, min(low), max(high), mayBeNull)
      case _ => Extent.Anything
    }

  private def isReal(t: DataType): Boolean = t == DoubleType || t == FloatType
}

private object SeveralTest {

  /** The greatest number of evaluations for blocks and files. Files that were not decided by then are kept. */
  private val MaxEvaluations = 16384

  /** If an index has no more files than this, a test of the block costs more than it saves. */
  private val MinFilesForBlocks = 64
}

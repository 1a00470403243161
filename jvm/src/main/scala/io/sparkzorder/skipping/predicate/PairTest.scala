// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.numberOfTrailingZeros
import java.util.BitSet

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

import io.sparkzorder.index.{ByteStats, LongStats}
import io.sparkzorder.skipping.values.{Extent, ResultsOfColumns}

/** How the values of two columns compare in the rows that match. */
private[predicate] sealed trait PairRelation

private[predicate] object PairRelation {
  case object Less extends PairRelation
  case object AtMost extends PairRelation
  case object Greater extends PairRelation
  case object AtLeast extends PairRelation
  case object Equal extends PairRelation
  case object Different extends PairRelation

  /** None for comparisons in which NULL can match. */
  def of(c: BinaryComparison, negated: Boolean): Option[PairRelation] = c match {
    case _: LessThan => Some(if (negated) AtLeast else Less)
    case _: LessThanOrEqual => Some(if (negated) Greater else AtMost)
    case _: GreaterThan => Some(if (negated) AtMost else Greater)
    case _: GreaterThanOrEqual => Some(if (negated) Less else AtLeast)
    case _: EqualTo => Some(if (negated) Different else Equal)
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
 * A comparison of two columns. A file may hold a match if the comparison holds for some value within the bounds of
 * one column and some value within those of the other.
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
      relation match {
        case PairRelation.Less => compare(a, true, b, false, i) < 0
        case PairRelation.AtMost => compare(a, true, b, false, i) <= 0
        case PairRelation.Greater => compare(b, true, a, false, i) < 0
        case PairRelation.AtLeast => compare(b, true, a, false, i) <= 0
        case PairRelation.Equal =>
          compare(a, true, b, false, i) <= 0 && compare(b, true, a, false, i) <= 0
        case PairRelation.Different =>
          compare(a, true, b, false, i) < 0 || compare(b, true, a, false, i) < 0
      }
    }
  }

  /** Compares the min or max of one column in file `i` with that of the other. */
  private def compare(
      left: ColumnDomains,
      leftMin: Boolean,
      right: ColumnDomains,
      rightMin: Boolean,
      i: Int): Int = {
    val l = if (leftMin) left.min else left.max
    val r = if (rightMin) right.min else right.max
    (l, r) match {
      case (LongStats(x), LongStats(y)) => java.lang.Long.compare(x(i), y(i))
      case (ByteStats(x), ByteStats(y)) => x.compare(i, y(i))
      case _ => throw new IllegalArgumentException("bounds of two kinds")
    }
  }
}

/**
 * A predicate on an expression with several columns, which is evaluated for the bounds that the columns have in a
 * block of files, and then in a file.
 *
 * @param columns with their types
 * @param inFile whether a row can match where the columns lie in some bounds
 */
private[predicate] final class SeveralTest(
    columns: Seq[(ColumnDomains, DataType)],
    inFile: ResultsOfColumns)
    extends TestOfEachFile {
  import ColumnDomains._
  import SeveralTest._

  private val count = columns.head._1.count
  private val blockWords = columns.head._1.blockWords

  // what is known of files and blocks: a filter may ask for each of them several times
  private val (tested, kept) = (new BitSet(count), new BitSet(count))
  private var evaluations = 0

  override def restrict(words: Array[Long], from: Int): Unit =
    synchronized(super.restrict(words, from))

  private val testedBlocks = new BitSet

  override protected def mayMatch(i: Int): Boolean = {
    val block = (i >> 6) / blockWords
    if (!testedBlocks.get(block) && count > MinOfBlocks && mayEvaluate()) {
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

  /** False where the evaluation would cost more than files that are read in vain. */
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

  /** So many blocks and files are tested; all others are kept. */
  private val MaxEvaluations = 16384

  /** Blocks of fewer files are not worth a test of their own. */
  private val MinOfBlocks = 64
}

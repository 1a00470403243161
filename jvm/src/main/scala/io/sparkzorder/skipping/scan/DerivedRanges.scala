// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types._

import io.sparkzorder.conf.Settings
import io.sparkzorder.index.{
  ByteValues,
  ColumnValues,
  DateLeaf,
  DecimalLeaf,
  FileTable,
  IndexColumns,
  IndexedColumn,
  IntegerLeaf,
  LeafColumns,
  LeafType,
  LongStats,
  TimestampLeaf
}
import io.sparkzorder.skipping.predicate.{
  ColumnDomainsReader,
  IntervalTest,
  PredicateCompiler,
  TableColumns
}
import io.sparkzorder.skipping.values.{Intervals, LongIntervals, OrderedValue}

/**
 * Adds ranges of columns that follow from filters on functions of the columns: `year(ts) = 2022` gets
 * `ts >= .. AND ts <= ..`. Delta and Iceberg prune their files themselves, and understand such ranges. The
 * query's own filters stay.
 *
 * Spark repeats the rule until the plan does not change any more, so a range that the filters already imply
 * must not be added.
 */
private[sparkzorder] object DerivedRanges extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!isOn || plan.isStreaming) plan
    else plan.transform {
      case f @ Filter(condition, leaf)
          if leaf.children.isEmpty && splitConjunctivePredicates(condition).exists(isOfFunction) &&
            FormatTable.takesRanges(leaf) =>
        PruningFailure.orElse(
          f,
          "no range of a column is derived from a function of the column") {
          val added = derived(splitConjunctivePredicates(condition), leaf)
          if (added.isEmpty) f else f.copy(condition = (condition +: added).reduce(And))
        }
    }

  private[skipping] def isOn: Boolean =
    Settings.ofSession(Settings.Enabled) && Settings.ofSession(Settings.SkippingEnabled)

  private def derived(conjuncts: Seq[Expression], leaf: LogicalPlan): Seq[Expression] = {
    val values = new MatchingValues(FormatTable.columnsOf(leaf.output))
    // Spark's own scan reads the files of Delta, from a LogicalRelation; Iceberg has a scan of its own
    val isDelta = leaf.isInstanceOf[LogicalRelation]
    val (ofFunctions, others) = conjuncts.partition(isOfFunction)
    def byColumn(some: Seq[Expression]) = some.flatMap(c => values(c).map(c.references.head -> _))
      .groupBy(_._1.exprId)
      .map { case (id, same) => id -> (same.head._1, same.map(_._2).reduce(_ intersect _)) }
    val stated = byColumn(others.filter(c => c.references.size == 1 && isKnownToFormats(c)))
    byColumn(ofFunctions).toSeq.sortBy(_._1.id).flatMap { case (id, (column, found)) =>
      val all = stated.get(id).fold(found)(_._2.intersect(found))
      if (stated.get(id).exists(_._2 == all)) Nil
      else {
        range(column, found, isDelta).toSeq.flatMap(splitConjunctivePredicates)
          .filterNot(e => conjuncts.exists(_.semanticEquals(e)))
      }
    }
  }

  /** True for a filter on one column that a format would not understand. */
  private def isOfFunction(c: Expression): Boolean =
    c.references.size == 1 && c.deterministic && !isKnownToFormats(c) &&
      !c.exists {
        case _: PlanExpression[_] | _: DynamicPruning | _: UserDefinedExpression => true
        case _ => false
      }

  /**
   * True for a filter that a format understands. Spark itself turns a comparison of a cast to DATE into a range of the
   * column, so such a cast counts as known.
   */
  private[sparkzorder] def isKnownToFormats(c: Expression): Boolean = !c.exists(isUnknownToFormats)

  private def isUnknownToFormats(e: Expression): Boolean = e match {
    // Spark makes `(k < 9) <=> true` of an IF or CASE with the condition `k < 9`
    case c: BinaryComparison => c.children.exists(isCondition)
    // of a list, Spark makes no ranges
    case In(c: Cast, _) if c.dataType == DateType => true
    case InSet(c: Cast, _) if c.dataType == DateType => true
    case _: And | _: Or | _: Not | _: In | _: InSet => false
    case _: IsNull | _: IsNotNull | _: Literal | _: Attribute => false
    case _: StringPredicate | _: MultiLikeBase | _: Like => false
    case cast: Cast => cast.dataType != DateType
    case _ => true
  }

  private def isCondition(e: Expression): Boolean =
    e.dataType == BooleanType && !e.isInstanceOf[Attribute] && !e.foldable

  /**
   * The values as a filter on the column. None if there are no values or too many ranges of values, if the ranges
   * exclude no value, or if the column is BOOLEAN.
   */
  private def range(
      column: Attribute,
      values: LongIntervals,
      isDelta: Boolean): Option[Expression] = {
    val all = OrderedValue.range(column.dataType)
    if (values.isEmpty || values.size > MaxRanges || all.isEmpty || column.dataType == BooleanType) {
      None
    } else {
      val ofLong = OrderedValue.ofLong(column.dataType)
      val (least, greatest) = all.get
      def literal(v: Long) = Literal(ofLong(v), column.dataType)
      val wanted = if (isDelta) values else ImportedTimes.added(values, column.dataType)
      val ranges = wanted.ranges.map { case (a, b) =>
        val (low, high) =
          if (isDelta && column.dataType == TimestampType) {
            (OddOffsets.from(a, least), OddOffsets.until(b))
          } else (a, b)
        val from =
          if (low <= least) None else Some(GreaterThanOrEqual(column, literal(low)))
        val until =
          if (high >= greatest) None else Some(LessThanOrEqual(column, literal(high)))
        if (low == high) Some(EqualTo(column, literal(low)))
        else (from ++ until).reduceOption[Expression](And)
      }
      if (ranges.contains(None)) None else ranges.flatten.reduceOption[Expression](Or)
    }
  }

  private val MaxRanges = 16
}

/**
 * Offsets of time zones with seconds, such as +08:05:43 in Shanghai until 1901. Delta's log writes the
 * bounds of timestamps with the offset of the writer's time zone in whole minutes. So a bound may be wrong
 * by up to a minute. The last such offset of a region ended in January 1972, in Monrovia. But a session may
 * use a fixed offset with seconds, so later bounds may be wrong, too.
 */
private[sparkzorder] object OddOffsets {

  /** 1972-02-01 in UTC. */
  val UntilMicros = 65750400000000L

  private val ErrorMicros = 60000000L

  /** The earliest time that a bound `micros` may stand for. At least `Long.MinValue`, without an overflow. */
  def earlier(micros: Long): Long = math.max(Long.MinValue + ErrorMicros, micros) - ErrorMicros

  /** The latest time that a bound `micros` may stand for. At most `Long.MaxValue`, without an overflow. */
  def later(micros: Long, by: Long = ErrorMicros): Long = math.min(Long.MaxValue - by, micros) + by

  /**
   * The widened low end of a range. If the range begins before [[UntilMicros]], the result is `least`, because no
   * end of a derived range may lie in the time of such offsets.
   */
  def from(low: Long, least: Long): Long = if (low < UntilMicros) least else earlier(low)

  /** The widened high end of a range. It is at least [[UntilMicros]], for the same reason. */
  def until(high: Long): Long = math.max(later(high), UntilMicros)
}

/**
 * Parquet files with timestamps in milliseconds that were imported into an Iceberg table (`add_files`,
 * `migrate`). Iceberg takes the milliseconds of their bounds for microseconds, so the years 0 to 9999 seem to
 * lie between 1968 and 1978. Nothing distinguishes such a file from others.
 */
private[sparkzorder] object ImportedTimes {
  private val (first, last) = (-62167219200000L, 253402300799999L)

  /** False for a bound that may be a number of milliseconds. */
  def isSure(micros: Long): Boolean = micros < first || micros > last

  /** Adds all times that may be bounds in milliseconds to the values, so that imported files are read, too. */
  def added(values: LongIntervals, dataType: DataType): LongIntervals = dataType match {
    case TimestampType | TimestampNTZType =>
      Intervals.ofLongRanges(values.ranges :+ ((first, last)))
    case _ => values
  }
}

/**
 * The values of a column for which a predicate on this column may be true. They are found by compiling the
 * predicate for an imaginary file whose values are unknown.
 */
private[sparkzorder] final class MatchingValues(columns: TableColumns) {

  /**
   * The values in the comparison domain of the column. None if the predicate has no test by intervals, if
   * the domain is not one of longs, or if a row may match where the column is NULL or NaN.
   *
   * @param predicate a predicate on one column
   */
  def apply(predicate: Expression): Option[LongIntervals] =
    predicate.references.toSeq match {
      case Seq(a) => leafType(a.dataType).flatMap { leaf =>
          val index = new UnknownFile(a, leaf)
          val test = new PredicateCompiler(columns, new ColumnDomainsReader(index, true))(predicate)
          test match {
            case t: IntervalTest if !t.ofNulls && !t.hasNaN =>
              t.intervals match {
                case longs: LongIntervals => Some(longs)
                case _ => None
              }
            case _ => None
          }
        }
      case _ => None
    }

  private def leafType(t: DataType): Option[LeafType] = LeafType.ofValues(t) match {
    case leaf @ (_: IntegerLeaf | DateLeaf | _: TimestampLeaf) => Some(leaf)
    case leaf: DecimalLeaf if leaf.inLongs => Some(leaf)
    case _ => None
  }

  private final class UnknownFile(column: Attribute, leaf: LeafType) extends IndexColumns {
    override val indexed: IndexedSeq[IndexedColumn] =
      IndexedSeq(IndexedColumn(Seq(column.name), leaf))
    override val shapes: IndexedSeq[LeafColumns] = IndexedSeq(LeafColumns(Seq(Seq(column.name))))
    override def table: FileTable = MatchingValues.oneFile
    override def column(number: Int): ColumnValues =
      ColumnValues(Array(-1L), Array[Byte](0), LongStats(Array(0L)), LongStats(Array(0L)))
  }
}

private object MatchingValues {
  private val oneFile: FileTable = {
    val paths = new ByteValues.Builder(1)
    paths.add(Array[Byte]('f'))
    FileTable(paths.result(), Array(1L), Array(0L), Array(1L), Array(0))
  }
}

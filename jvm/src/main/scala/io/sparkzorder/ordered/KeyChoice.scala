// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.{ExternalCatalogUtils, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.{
  Cast,
  Concat,
  Expression,
  Literal,
  ScalaUDF,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{
  HadoopFsRelation,
  LogicalRelation,
  V1WriteCommand
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType

import io.sparkzorder.bits.{HilbertCurve, ZValues}
import io.sparkzorder.cluster.PlaceOfRow
import io.sparkzorder.conf.Settings
import io.sparkzorder.expressions.{Hilbert, ZOrder}
import io.sparkzorder.expressions.sampling.ResolveSampledCalls
import io.sparkzorder.ordered.grid.StoredGrid
import io.sparkzorder.plans.Repeatability
import io.sparkzorder.table.WrittenName

/**
 * Chooses how the rows of one write are ordered. The grade is a value of the setting `write`: `sort`, `cells` or
 * `sampled`. The key is computed from the stored grid, from a sample or from the values.
 *
 * @param columns the ordering columns, from the output of `query`
 * @param query the rows of the write
 * @param optimize Spark's optimizer
 */
private[ordered] final class KeyChoice(
    declared: DeclaredWrite,
    columns: Seq[Expression],
    write: V1WriteCommand,
    query: LogicalPlan,
    optimize: LogicalPlan => LogicalPlan) {
  import KeyChoice._

  private val conf = SQLConf.get
  private val clause = s"the order is ${declared.order.clause}"

  /**
   * @param stored reads the stored grid of the table; None if there is none. Evaluated only if the grid may be used
   */
  def choose(stored: => Option[StoredGrid]): OrderKey =
    if (declared.order.lexical) OrderKey(declared.byValue(columns), None)
    else if (declared.grade == Settings.WriteSampled) {
      CurveOfInput.obstacle(query).orElse(shuffleObstacle) match {
        case None => bySample(stored)
        case Some(why) => unsampled(stored, s"$why; ")
      }
    } else unsampled(stored, "")

  private def unsampled(stored: Option[StoredGrid], note: String): OrderKey =
    stored match {
      case None => OrderKey(declared.byValue(columns, s"${note}no grid is stored"), None)
      case Some(grid) if !fits(grid) =>
        val why = s"${note}the stored grid has other columns or types"
        OrderKey(declared.byValue(columns, why), None)
      case Some(grid) => byGrid(grid, note)
    }

  private def bySample(stored: Option[StoredGrid]): OrderKey = {
    val why = s"$clause, by a sample of the rows, which are read twice"
    val ratio = stored.fold(StoredGrid.UnknownRatio)(_.shuffleRatio)
    val (buckets, units) = partitions(files.getOrElse(UnknownFiles), folders = MinBuckets)
    val cells = new CellsOfCurve(CurveOfInput.bits(columns.size), buckets, units, target(ratio))
    val place = CurveOfInput.of(columns, query, optimize)
    key(place, Settings.WriteSampled, why, cells)
  }

  private def fits(grid: StoredGrid): Boolean =
    grid.columns.size == columns.size &&
      grid.types == columns.map(_.dataType.json) &&
      grid.columns.map(WrittenName.parts).zip(declared.order.columns)
        .forall { case (a, b) =>
          a.size == b.size && a.zip(b).forall { case (x, y) => conf.resolver(x, y) }
        }

  private def byGrid(grid: StoredGrid, note: String): OrderKey = {
    val obstacle =
      if (declared.grade == Settings.WriteSort) Some("the setting write is sort")
      else {
        shuffleObstacle.orElse {
          if (declared.grade == Settings.WriteCells) None
          else if (files.isEmpty) Some("the size of the rows is not known")
          else files.filter(_ < MinFiles).map(_ => s"the rows fill less than $MinFiles files")
        }
      }
    val (buckets, units) = partitions(files.getOrElse(UnknownFiles), grid.folders.size)
    val cells = new CellsOfGrid(grid, buckets, units, target(grid.shuffleRatio))
    val place =
      PlaceOfRow(columns, FolderOfPath(path, cells), Literal(0L), cells.placement)
    obstacle match {
      case Some(why) if declared.isByColumns =>
        val text = s"$clause, and $note$why"
        OrderKey(columns.map(DeclaredKey(_, Settings.WriteSort, text)), None)
      case Some(why) =>
        OrderKey(
          Seq(DeclaredKey(place, Settings.WriteSort, s"$clause, by the grid; $note$why")),
          None)
      case None =>
        val expected = files.fold("some")(f => s"about ${math.round(f)}")
        key(
          place,
          Settings.WriteCells,
          s"$clause, by the grid; $note$expected files expected",
          cells)
    }
  }

  private def key(place: Expression, grade: String, why: String, cells: WriteCells): OrderKey = {
    // With a single ordering column, rows with equal places are also sorted by the column, because places are coarser
    // than values.
    val more = if (declared.isByColumns) columns.map(DeclaredKey(_, grade, why)) else Nil
    OrderKey(DeclaredKey(place, grade, why) +: more, Some(CellShuffle(cells, path)))
  }

  /** Why the rows must not be shuffled; None if they may be. */
  private def shuffleObstacle: Option[String] =
    if (write.bucketSpec.isDefined) Some("the table is bucketed")
    else if (!conf.adaptiveExecutionEnabled) Some("spark.sql.adaptive.enabled is false")
    else if (ExpectedSize.hasOwnPartitions(query)) Some("the query partitions its rows itself")
    else Repeatability.obstacle(query)

  /** The expected number of files; None if the size of the rows is not known. */
  private lazy val files: Option[Double] =
    ExpectedSize.bytes(query).map(_ / declared.targetFileSize)

  private def target(shuffleRatio: Double): Long =
    math.max(1L, (declared.targetFileSize * shuffleRatio).toLong)

  /**
   * The number of buckets of the shuffle, and the number of partitions of a bucket (`units` in the callers). A bucket
   * is a group of folders, and has nothing to do with a bucketed table. There are several partitions for each file, so
   * that neighbouring partitions can be merged to the right size.
   *
   * A task writes at least one file for each folder of its bucket. More buckets have fewer folders each, and so make
   * fewer small files. With fewer buckets, more partitions are left for an INSERT whose rows are all in one folder.
   *
   * @param files the expected number of files
   * @param folders the known number of folders of the table
   */
  private def partitions(files: Double, folders: Int): (Int, Int) = {
    val buckets =
      if (OrderedQuery.dynamicPartitions(write).isEmpty) 1
      else powerOfTwo(folders.toDouble, MinBuckets, MaxBuckets)
    (buckets, powerOfTwo(UnitsPerFile * files, MinUnits / buckets, MaxPartitions / buckets))
  }

  /**
   * The least power of two that is not below `wanted`, within the limits. The numbers of partitions are
   * powers of two, so that each half of the partitions is one half of the grid.
   */
  private def powerOfTwo(wanted: Double, least: Int, most: Int): Int =
    Iterator.iterate(math.max(1, least))(_ * 2).find(n => n >= wanted || n >= most).get

  /**
   * The path of the partition directory of a row, relative to the table. Spark's writer makes the same path, unless the
   * writer has a time zone of its own.
   */
  private lazy val path: Expression = {
    // for Hive's command, `partitionColumns` has only the dynamic partition columns
    val static = write.staticPartitions.toSeq
      .filterNot { case (name, _) =>
        write.partitionColumns.exists(c => conf.resolver(c.name, name))
      }
      .map { case (name, v) => Literal(ExternalCatalogUtils.getPartitionPathString(name, v)) }
    val parts = static ++ write.partitionColumns.map { c =>
      ScalaUDF(
        ExternalCatalogUtils.getPartitionPathString _,
        StringType,
        Seq(Literal(c.name), Cast(c, StringType, Some(conf.sessionLocalTimeZone))))
    }
    parts match {
      case Seq() => Literal("")
      case Seq(one) => one
      case several =>
        val first: Seq[Expression] = Seq(several.head)
        Concat(several.tail.foldLeft(first)((all, p) => all :+ Literal("/") :+ p))
    }
  }
}

private object KeyChoice {
  val MinFiles = 4
  val UnitsPerFile = 8
  val MinUnits = 64
  val MinBuckets = 32
  val MaxBuckets = 128

  /**
   * The greatest number of partitions of the shuffle. Spark records the exact size of each shuffle partition only if
   * there are at most 2,000 partitions (`spark.shuffle.minNumPartitionsToHighlyCompress`). Without the sizes, AQE can
   * neither merge nor split partitions.
   */
  val MaxPartitions = 1024

  /** The assumed number of files if the size of the rows is not known. */
  val UnknownFiles = 32.0
}

/** Estimates the rows of a write before the query runs. */
private[ordered] object ExpectedSize {

  /** The size of the rows in bytes, from Spark's estimates; None if Spark has no estimate. */
  def bytes(query: LogicalPlan): Option[Double] =
    // Spark raises an error if it has to estimate some sources before it has planned their scans.
    Try(estimate(query)).toOption.flatten

  private def estimate(plan: LogicalPlan): Option[Double] = plan match {
    // without column statistics, Spark estimates the size of a join as the product of both sides
    case j: Join =>
      for (left <- estimate(j.left); right <- estimate(j.right))
        yield math.min(size(j), left + right)
    case u: UnaryNode => estimate(u.child).map(below => below * (size(u) / size(u.child)))
    case leaf if leaf.children.isEmpty =>
      // a relation of unknown size, such as a micro-batch of a stream, has the default size or more
      Some(size(leaf)).filter(_ < SQLConf.get.defaultSizeInBytes.toDouble)
    case other =>
      if (other.children.forall(estimate(_).isDefined)) Some(size(other)) else None
  }

  private def size(plan: LogicalPlan): Double =
    math.max(1.0, plan.stats.sizeInBytes.toDouble)

  /** True if the query itself partitions its rows: by ORDER BY, or by a hint such as COALESCE or REBALANCE. */
  def hasOwnPartitions(query: LogicalPlan): Boolean = query match {
    case _: RepartitionOperation | _: RebalancePartitions => true
    case s: Sort => s.global || hasOwnPartitions(s.child)
    case p: Project => hasOwnPartitions(p.child)
    case f: Filter => hasOwnPartitions(f.child)
    case _ => false
  }
}

/**
 * Computes the position of a row on a space-filling curve. The coordinates are the ranks of the values of
 * the row among all rows of the write. The ranks come from a sample, so the write reads its input twice:
 * first the ordering columns only, then all columns.
 */
private[ordered] object CurveOfInput {

  /** The number of bits of a position. */
  def bits(columns: Int): Int = columns * ZValues.bitsPerColumn(columns)

  /**
   * Why the query must not be read twice; None if it may. A second read of a join or an aggregate would be
   * slow. A query that may return other rows when it is read again must not be read twice either: the ranks would
   * not fit the rows.
   */
  def obstacle(query: LogicalPlan): Option[String] =
    query.collectFirst {
      case node if !isCheap(node) => s"the query has the operator ${node.nodeName}"
      case node if node.expressions.exists(SubqueryExpression.hasSubquery) =>
        "the query has a subquery"
    }.orElse(Repeatability.obstacle(query))

  private def isCheap(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: Union | _: Sort | _: SubqueryAlias => true
    case _: LocalRelation | _: Range | _: InMemoryRelation => true
    // scans of V2 sources are planned after this rule
    case _: HiveTableRelation | _: DataSourceV2Relation => true
    case l: LogicalRelation => l.relation.isInstanceOf[HadoopFsRelation]
    case _ => false
  }

  /**
   * @param columns the ordering columns, from the output of `query`
   * @param optimize Spark's optimizer. The sample must be optimized here, because the optimizer's rules for
   *   subqueries have run before writes are ordered
   */
  def of(
      columns: Seq[Expression],
      query: LogicalPlan,
      optimize: LogicalPlan => LogicalPlan): Expression = {
    val call = if (columns.size <= HilbertCurve.MaxColumns) Hilbert(columns) else ZOrder(columns)
    ResolveSampledCalls.bySample(query, Seq(call), optimize).head
  }
}

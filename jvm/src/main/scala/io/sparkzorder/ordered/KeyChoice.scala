// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, Concat, Expression, Literal, ScalaUDF}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.V1WriteCommand
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType

import io.sparkzorder.cluster.PlaceOfRow
import io.sparkzorder.conf.Settings
import io.sparkzorder.ordered.grid.StoredGrid
import io.sparkzorder.plans.Repeatability

/**
 * Chooses how the rows of one write are ordered: `sort`, `cells` or `sampled`; by the stored grid, by a
 * sample or by values.
 *
 * @param columns the ordering columns of the write
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

  /** @param stored the grid of the table, if it has one; read only if it may be used */
  def choose(stored: => Option[StoredGrid]): OrderKey =
    if (declared.order.lexical) OrderKey(declared.byValue(columns), None)
    else if (declared.grade == Settings.WriteSampled) {
      CurveOfInput.obstacle(query).orElse(noDealing) match {
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
      grid.columns.map(CatalystSqlParser.parseMultipartIdentifier).zip(declared.order.columns)
        .forall { case (a, b) =>
          a.size == b.size && a.zip(b).forall { case (x, y) => conf.resolver(x, y) }
        }

  private def byGrid(grid: StoredGrid, note: String): OrderKey = {
    val obstacle =
      if (declared.grade == Settings.WriteSort) Some("the setting write is sort")
      else {
        noDealing.orElse {
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
        val expected = files.fold("some")(f => f"about $f%.0f")
        key(
          place,
          Settings.WriteCells,
          s"$clause, by the grid; $note$expected files expected",
          cells)
    }
  }

  private def key(place: Expression, grade: String, why: String, cells: WriteCells): OrderKey = {
    // equal places of one column are sorted by its values
    val more = if (declared.isByColumns) columns.map(DeclaredKey(_, grade, why)) else Nil
    OrderKey(DeclaredKey(place, grade, why) +: more, Some(DealByCells(cells, path)))
  }

  /** Why rows cannot be dealt by a shuffle. */
  private def noDealing: Option[String] =
    if (write.bucketSpec.isDefined) Some("the table is bucketed")
    else if (!conf.adaptiveExecutionEnabled) Some("spark.sql.adaptive.enabled is false")
    else if (ExpectedSize.hasOwnPartitions(query)) Some("the query deals its rows itself")
    else Repeatability.obstacle(query)

  /** Files that the rows fill, as far as it is known. */
  private lazy val files: Option[Double] =
    ExpectedSize.bytes(query).map(_ / declared.targetFileSize)

  private def target(shuffleRatio: Double): Long =
    math.max(1L, (declared.targetFileSize * shuffleRatio).toLong)

  /**
   * The number of buckets of the shuffle, and the number of partitions of a bucket. A file has several
   * partitions, so that neighbours can be joined to the right size.
   *
   * More buckets make fewer small files: a task writes a file for each folder of its bucket. Fewer
   * buckets leave more partitions for an insert whose rows are all of one folder.
   *
   * @param folders of the table, as far as it is known
   */
  private def partitions(files: Double, folders: Int): (Int, Int) = {
    val buckets =
      if (OrderedQuery.dynamicPartitions(write).isEmpty) 1
      else powerOfTwo(folders.toDouble, MinBuckets, MaxBuckets)
    (buckets, powerOfTwo(UnitsPerFile * files, MinUnits / buckets, MaxPartitions / buckets))
  }

  /** Halves of the partitions are halves of the grid. */
  private def powerOfTwo(wanted: Double, least: Int, most: Int): Int =
    Iterator.iterate(math.max(1, least))(_ * 2).find(n => n >= wanted || n >= most).get

  /** The directory of a row below the table, as Spark's writer makes it. */
  private lazy val path: Expression = {
    // the partition columns of Hive's command are the dynamic ones alone
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
   * Spark knows the size of each partition of a shuffle only up to 2,000 of them
   * (`spark.shuffle.minNumPartitionsToHighlyCompress`). Without the sizes, AQE can neither join nor
   * split.
   */
  val MaxPartitions = 1024

  /** Where Spark does not know how many rows come. */
  val UnknownFiles = 32.0
}

/** What is known of the rows of a write before the query runs. */
private[ordered] object ExpectedSize {

  /** Bytes of the rows by Spark's estimate; None where Spark does not know. */
  def bytes(query: LogicalPlan): Option[Double] =
    // Spark refuses to estimate some sources before it has planned their scans
    Try(estimate(query)).toOption.flatten

  private def estimate(plan: LogicalPlan): Option[Double] = plan match {
    // without statistics of columns, Spark takes the product of both sides
    case j: Join =>
      for (left <- estimate(j.left); right <- estimate(j.right))
        yield math.min(size(j), left + right)
    case u: UnaryNode => estimate(u.child).map(below => below * (size(u) / size(u.child)))
    case leaf if leaf.children.isEmpty =>
      // a relation that cannot tell its size, such as a batch of a stream
      Some(size(leaf)).filter(_ < SQLConf.get.defaultSizeInBytes.toDouble)
    case other =>
      if (other.children.forall(estimate(_).isDefined)) Some(size(other)) else None
  }

  private def size(plan: LogicalPlan): Double =
    math.max(1.0, plan.stats.sizeInBytes.toDouble)

  /** True if the query itself deals its rows: by ORDER BY, or by a hint such as COALESCE or REBALANCE. */
  def hasOwnPartitions(query: LogicalPlan): Boolean = query match {
    case _: RepartitionOperation | _: RebalancePartitions => true
    case s: Sort => s.global || hasOwnPartitions(s.child)
    case p: Project => hasOwnPartitions(p.child)
    case f: Filter => hasOwnPartitions(f.child)
    case _ => false
  }
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import scala.util.Random

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.LongType

import io.sparkzorder.cluster._
import io.sparkzorder.commands.Phases
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.ColumnRange
import io.sparkzorder.workload.{RecordedScans, Workload}

/**
 * AUTO on a made-up table: it learns from recorded scans and a sample of the rows. Its layout is then
 * judged without its own code: other rows are dealt to files as OPTIMIZE deals them, and scans that
 * AUTO has not seen read the files that min and max leave.
 *
 * @param files number of files of a layout
 * @param rowsOfFile rows that are dealt to each file
 */
final class HeldOut(
    spark: SparkSession,
    workload: HeldOutWorkload,
    seed: Int,
    files: Int = 64,
    rowsOfFile: Int = 500) {
  import HeldOut._

  private val random = new Random(seed * 7919L)
  private val columns = workload.columns.map(c => OrderingColumn(Seq(c), LongType))
  private val rows = IndexedSeq.fill(files * rowsOfFile)(workload.row(random))
  private val sample = sampleOf(IndexedSeq.fill(Sampled.rowsFor(files.toLong).toInt)(
    workload.row(random)))
  // OPTIMIZE takes a sample of its own
  private val cutSample = sampleOf(IndexedSeq.fill(SampleRows)(workload.row(random)))
  private val later = workload.later(random)

  private def sampleOf(rows: IndexedSeq[Array[Long]]): IndexedSeq[KeyColumn] =
    columns.indices.map { c =>
      val builder = KeyColumn.newBuilder(LongType)
      rows.foreach(r => builder.add(r(c)))
      builder.result()
    }

  /** What the scans leave in the record. */
  val recorded: Workload = {
    val sorted = columns.indices.map(c => rows.map(_(c)).sorted.toArray)
    def below(c: Int, value: Long): Double = {
      var (low, high) = (0, sorted(c).length)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (sorted(c)(middle) < value) low = middle + 1 else high = middle
      }
      low.toDouble / sorted(c).length
    }
    RecordedScans.workload(workload.days(random).map(_.map { scan =>
      (
        scan.sides.map { case (column, intervals) =>
          val c = workload.columns.indexOf(column)
          column -> intervals.map { case (from, until) => (below(c, from), below(c, until + 1)) }
        },
        scan.bytes * TableBytes)
    }))
  }

  /** @param cutsByQueries false to judge candidates as if files were cut by weights alone */
  private def sampledFor(recorded: Workload, cutsByQueries: Boolean): Sampled = {
    // as AUTO looks at the columns
    val names = recorded.columns.map(_._1).take(Sampled.MaxColumns)
    val own = names.map(n => workload.columns.indexOf(n)).toIndexedSeq
    // files that scans cannot skip
    val today = JudgedFile(rowsOfFile.toLong, own.map(_ => ColumnRange.Unknown))
    val folder = JudgedFolder(
      IndexedSeq.fill(files)(today),
      FolderSample(own.map(sample(_))),
      rowsOfFile.toDouble)
    Sampled.of(
      own.map(columns(_)),
      IndexedSeq(folder),
      recorded,
      TableBytes.toLong,
      isWhole = cutsByQueries)
  }

  /** The decision of AUTO. */
  def auto(cutsByQueries: Boolean = true): ClusteringSpec = {
    val table = new AutoTable {
      override def workload(): Workload = recorded
      override def inForce: Option[LayoutInForce] = None
      override def sampled(workload: Workload): Option[Sampled] =
        Some(sampledFor(workload, cutsByQueries))
      override def daysSinceChange(bytes: Long): Option[Long] = None
    }
    val session = spark.asInstanceOf[Session]
    new AutoChoice(session, table, hasWhere = false, new Phases(spark.sparkContext, "HeldOut"))
      .choose()
  }

  /** The candidate that the model prefers, without a sample. */
  def byModel(): Seq[(String, Double)] = {
    val sampled = sampledFor(recorded, cutsByQueries = false)
    val best = Candidates.of(sampled.queries, sampled.values, sampled.files).head
    best.columns.map(sampled.columns(_).name).zip(best.weights)
  }

  /** The share of their bytes that the later scans read of a layout. */
  def reads(by: Seq[(String, Double)], queries: IndexedSeq[QueryBox] = IndexedSeq.empty): Double =
    if (by.isEmpty) 1.0
    else {
      val own = by.map(b => workload.columns.indexOf(b._1))
      val folder = Grid.build(
        own.map(c => (columns(c).name, LongType)),
        IndexedSeq(rows.size.toLong),
        IndexedSeq(rowsOfFile.toDouble),
        IndexedSeq(FolderSample(own.map(cutSample(_)).toIndexedSeq)),
        CutGoal(by.map(_._2).toIndexedSeq, queries)).folders.head.get
      val dealt = rows.indices.groupBy { i =>
        val slots = own.indices.map(c => folder.columns(c).bounds.slotOf(rows(i)(own(c)))).toArray
        val cell = folder.cells(folder.tree.cellOf(slots))
        cell.file + i % cell.files
      }.values.map { in =>
        val ends = workload.columns.indices.map { c =>
          val values = in.map(rows(_)(c))
          workload.columns(c) -> ((values.min, values.max))
        }.toMap
        (in.size, ends)
      }.toSeq
      val read = later.map { scan =>
        scan.bytes * dealt.collect {
          case (n, ends) if scan.sides.forall { case (c, intervals) =>
                val (min, max) = ends(c)
                intervals.exists { case (from, until) => from <= max && until >= min }
              } => n
        }.sum
      }.sum
      read / (rows.size * later.map(_.bytes).sum)
    }

  def reads(order: ClusteringSpec): Double = reads(by(order), order.queries)

  def by(order: ClusteringSpec): Seq[(String, Double)] = {
    val names = order.names.map(_.head)
    names.zip(if (order.weights.isEmpty) names.map(_ => 1.0) else order.weights)
  }

  /** The best layout in hindsight, of all by up to three columns that later scans filter by. */
  def best(most: Int): (Seq[(String, Double)], Double) = {
    val counts = later.flatMap(s => s.sides.keys.map(_ -> s.bytes)).groupBy(_._1)
      .map { case (c, w) => c -> w.map(_._2).sum }
    val used = counts.toSeq.sortBy { case (c, w) => (-w, c) }.map(_._1).take(most)
    val bits = 31 - Integer.numberOfLeadingZeros(files)
    val layouts = for {
      n <- 1 to math.min(3, used.size)
      set <- used.combinations(n)
      shares <- compositions(bits, n)
    } yield set.zip(shares.map(s => math.pow(2, s - shares.min)))
    layouts.map(l => (l, reads(l))).minBy(_._2)
  }
}

object HeldOut {
  private val SampleRows = 16000
  private val TableBytes = 1e9

  /** All ways to write a number as a sum of so many numbers above 0. */
  private def compositions(sum: Int, n: Int): Seq[List[Int]] =
    if (n == 1) Seq(List(sum))
    else (1 to sum - n + 1).flatMap(first => compositions(sum - first, n - 1).map(first :: _))

  def text(by: Seq[(String, Double)]): String = by.map { case (c, w) =>
    if (by.size == 1 || w == 1) c else s"$c:${w.toInt}"
  }.mkString("(", ", ", ")")
}

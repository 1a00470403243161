// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, Partitioning}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  CoalescedPartitionSpec,
  PartialReducerPartitionSpec,
  ShufflePartitionSpec,
  SparkPlan
}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.{Grid, PartitionKeys, Placement}
import io.sparkzorder.ordered.grid.StoredGrid
import io.sparkzorder.util.OncePerJvm

/**
 * Maps the rows of a write to the partitions of its shuffle. The rows of a folder go to a *bucket*, which is a
 * series of neighbouring partitions. Within the bucket, neighbouring cells of the folder go to neighbouring partitions.
 * If there are more folders than buckets, folders share buckets. AQE and [[CoalesceWriteCells]] merge neighbouring
 * partitions until a task has enough rows for a file.
 *
 * Immutable and thread-safe.
 *
 * @param buckets the number of buckets
 * @param units the number of partitions of a bucket, a power of two
 * @param targetBytes the bytes of shuffle data that make one file
 */
private[sparkzorder] sealed abstract class WriteCells(
    buckets: Int,
    units: Int,
    val targetBytes: Long)
    extends OncePerJvm {

  private val preimages = PartitionKeys(partitions)

  def partitions: Int = buckets * units

  /** The shuffle key of a row: a BIGINT that hash partitioning maps to the partition of its cell. */
  def key(place: Long, path: UTF8String): Long =
    preimages(partition(place, path))

  /** The partition of the shuffle to which a row goes. */
  protected def partition(place: Long, path: UTF8String): Int

  protected final def inBucket(bucket: Int, unit: Int): Int =
    Math.floorMod(bucket, buckets) * units + unit
}

private[ordered] object WriteCells {

  /** The cells by which a shuffle partitions its rows; None if it partitions by anything else. */
  def of(shuffle: Partitioning): Option[WriteCells] = shuffle match {
    case HashPartitioning(Seq(CellOfPlace(_, _, cells)), _) => Some(cells)
    case _ => None
  }
}

/** The cells of the grid that the last OPTIMIZE has stored. */
private[sparkzorder] final class CellsOfGrid(
    grid: StoredGrid,
    buckets: Int,
    units: Int,
    targetBytes: Long)
    extends WriteCells(buckets, units, targetBytes) {

  private val paths = grid.folders.keys.toArray.sorted
  private val numbers = new java.util.HashMap[UTF8String, Integer]
  paths.indices.foreach(i => numbers.put(UTF8String.fromString(paths(i)), Integer.valueOf(i)))
  private val pooled = paths.length

  /** Places rows by the grids of the stored folders. The last grid is for all other folders. */
  val placement: Placement =
    new Placement(
      Grid(grid.columns, paths.map(p => Option(grid.folders(p))).toIndexedSeq :+ Some(grid.pooled)))

  private val first: Array[Int] = placement.firstParts.toArray
  private val keyBits = placement.keyBits

  // The lower bits of a place in which the positions on the curve differ. With up to three columns a position is
  // shorter than `keyBits`, and a longer position was cut to `keyBits`.
  private val positionBits = math.min(keyBits, CurveOfInput.bits(grid.columns.size))
  private val fraction = math.min(CellsOfGrid.Fraction, positionBits)

  /** The number of a folder in `placement`. */
  def folder(path: UTF8String): Int = {
    val number = numbers.get(path)
    if (number == null) pooled else number.intValue
  }

  override protected def partition(place: Long, path: UTF8String): Int = {
    val own = folder(path)
    inBucket(if (own == pooled) path.hashCode else own, unit(place, own))
  }

  /**
   * The partition within the bucket. The cells of a folder are divided equally among the partitions. If
   * there are more partitions than cells, a cell is cut along its curve.
   */
  private def unit(place: Long, own: Int): Int = {
    val cells = first(own + 1) - first(own)
    val cell = (place >>> keyBits) - first(own)
    val within = (place & ((1L << positionBits) - 1)) >>> (positionBits - fraction)
    val position = (cell << fraction) + within
    math.min(units - 1L, position * units / (cells.toLong << fraction)).toInt
  }
}

private object CellsOfGrid {
  // at most so many upper bits of a position within a cell decide about the partition
  val Fraction = 20
}

/**
 * Equal parts of a curve through the ranks of the ordering columns.
 *
 * @param bits the number of bits of a position on the curve, at least log2 of `units`
 */
private[sparkzorder] final class CellsOfCurve(
    bits: Int,
    buckets: Int,
    units: Int,
    targetBytes: Long)
    extends WriteCells(buckets, units, targetBytes) {

  private val shift = bits - Integer.numberOfTrailingZeros(units)
  require(shift >= 0, s"$bits bits are too few for $units partitions")

  override protected def partition(place: Long, path: UTF8String): Int =
    inBucket(path.hashCode, (place >>> shift).toInt)
}

/** The number of the folder of a row, from its path below the table. */
private[sparkzorder] case class FolderOfPath(child: Expression, cells: CellsOfGrid)
    extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def prettyName: String = "folder_of_path"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(path: Any): Any = cells.folder(path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells)
    defineCodeGen(ctx, ev, path => s"$all.folder($path)")
  }

  override protected def withNewChildInternal(newChild: Expression): FolderOfPath =
    copy(child = newChild)
}

/**
 * The shuffle key of a row, see [[WriteCells.key]].
 *
 * @param left the place of the row
 * @param right the path of its folder below the table
 */
private[sparkzorder] case class CellOfPlace(left: Expression, right: Expression, cells: WriteCells)
    extends BinaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "cell_of_place"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(place: Any, path: Any): Any =
    cells.key(place.asInstanceOf[Long], path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells, classOf[WriteCells].getName)
    defineCodeGen(ctx, ev, (place, path) => s"$all.key($place, $path)")
  }

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): CellOfPlace = copy(left = newLeft, right = newRight)
}

/**
 * Sets the advisory partition size of the shuffle of a write by cells. Spark's adaptive execution splits partitions
 * above this size. ([[CoalesceWriteCells]] decides which ones are joined.) This is a rule on the physical plan, because
 * the logical RebalancePartitions takes either this size or a number of partitions, and the write needs both.
 */
private[sparkzorder] object SetCellPartitionSize extends Rule[SparkPlan] {
  private val Slack = 1.2

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case shuffle: ShuffleExchangeExec if shuffle.advisoryPartitionSize.isEmpty =>
      WriteCells.of(shuffle.outputPartitioning).fold(shuffle) { cells =>
        shuffle.copy(advisoryPartitionSize = Some((Slack * cells.targetBytes).toLong))
      }
  }
}

/**
 * Joins neighbouring cells of a write until a task has enough rows for a file.
 *
 * Spark's own rule joins partitions, too. But with the default of
 * `spark.sql.adaptive.coalescePartitions.parallelismFirst`, Spark keeps a task for each core, and each of these
 * tasks writes a small file. Spark also joins neighbours without regard to the cuts. This rule halves the series of
 * all cells again and again, until each part fits into a file. The halves follow the cuts of the kd-tree, so the rows
 * of a part are as a rule one box of the ordering columns. [[JoinedCells]] may join two small neighbouring parts.
 */
private[sparkzorder] object CoalesceWriteCells extends Rule[SparkPlan] {
  // The square root of 2. Up to this multiple of the target, a part is nearer to the target than its halves would
  // be: 1.4 and 0.7 targets.
  private val MaxFill = 1.41

  override def apply(plan: SparkPlan): SparkPlan = plan match {
    case read @ AQEShuffleReadExec(stage: ShuffleQueryStageExec, specs) if cells(stage).isDefined =>
      joined(stage, specs).fold[SparkPlan](read)(s => read.copy(partitionSpecs = s))
    case stage: ShuffleQueryStageExec if cells(stage).isDefined =>
      // Spark left the partitions alone, as where its coalescing is switched off
      joined(stage, Nil).fold[SparkPlan](stage)(AQEShuffleReadExec(stage, _))
    case other => other.mapChildren(apply)
  }

  private def cells(stage: ShuffleQueryStageExec): Option[WriteCells] =
    WriteCells.of(stage.shuffle.outputPartitioning)

  /** @param specs the partitions as Spark has joined and split them */
  private def joined(
      stage: ShuffleQueryStageExec,
      specs: Seq[ShufflePartitionSpec]): Option[Seq[ShufflePartitionSpec]] =
    for (own <- cells(stage); stats <- stage.mapStats) yield {
      val split = specs.collect { case p: PartialReducerPartitionSpec => p }.groupBy(_.reducerIndex)
      val bytes = stats.bytesByPartitionId
      new JoinedCells(bytes, own.targetBytes, MaxFill).parts.flatMap { case (from, end) =>
        // one cell that is too large stays split
        split.get(from).filter(_ => end == from + 1)
          .getOrElse {
            val size = (from until end).map(bytes(_)).sum
            Seq(CoalescedPartitionSpec(from, end, Some(size)))
          }
      }
    }
}

/**
 * Divides the cells into parts, each of which goes to one task. A part is a range of neighbouring cells.
 *
 * @param bytes the size of each cell
 * @param target the wanted size of a part
 * @param maxFill a part above this many targets is halved
 */
private[ordered] final class JoinedCells(bytes: Array[Long], target: Long, maxFill: Double) {
  private val below = bytes.scanLeft(0L)(_ + _)

  /** For each part, its first cell and the cell after its last. The parts are in the order of the cells. */
  def parts: Seq[(Int, Int)] =
    halves(0, bytes.length).foldLeft(Vector.empty[(Int, Int)]) {
      // halves of unequal size leave small parts; two of them may fit together
      case (done :+ ((from, _)), (_, end)) if size(from, end) <= target =>
        done :+ ((from, end))
      case (done, part) => done :+ part
    }

  private def halves(from: Int, until: Int): Seq[(Int, Int)] =
    if (until - from <= 1 || size(from, until) <= maxFill * target) Seq((from, until))
    else {
      val middle = (from + until) / 2
      halves(from, middle) ++ halves(middle, until)
    }

  private def size(from: Int, until: Int): Long = below(until) - below(from)
}

// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  CoalescedPartitionSpec,
  PartialReducerPartitionSpec,
  ShufflePartitionSpec,
  SparkPlan
}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/**
 * Tells Spark's adaptive execution how large a partition of a write by cells should be: Spark splits
 * larger ones and joins neighbours up to this size. (The node of the logical plan takes this size or
 * a number of partitions, not both.)
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
 * Puts neighbouring cells of a write together until a task has enough for a file.
 *
 * Spark's own rule does the same, but `spark.sql.adaptive.coalescePartitions.parallelismFirst`, which is
 * on by default, makes it leave as many tasks as there are cores, and so as many small files. It also
 * puts together whatever stands side by side. This rule halves the cells until a part fits into a file.
 * The halves are those of the kd-tree, so that each file is one box of the ordering columns.
 */
private[sparkzorder] object CoalesceWriteCells extends Rule[SparkPlan] {
  // a part of this size is not worth halving: its halves would be further from the target
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

  /** @param specs as Spark has put the partitions together, and split them */
  private def joined(
      stage: ShuffleQueryStageExec,
      specs: Seq[ShufflePartitionSpec]): Option[Seq[ShufflePartitionSpec]] =
    for (dealt <- cells(stage); stats <- stage.mapStats) yield {
      val split = specs.collect { case p: PartialReducerPartitionSpec => p }.groupBy(_.reducerIndex)
      val bytes = stats.bytesByPartitionId
      new JoinedCells(bytes, dealt.targetBytes, MaxFill).parts.flatMap { case (from, until) =>
        // one cell that is too large stays split
        split.get(from).filter(_ => until == from + 1)
          .getOrElse {
            val size = (from until until).map(bytes(_)).sum
            Seq(CoalescedPartitionSpec(from, until, Some(size)))
          }
      }
    }
}

/**
 * Ranges of neighbouring cells.
 *
 * @param bytes of each cell
 * @param target bytes of a part
 * @param maxFill a part above this many targets is halved
 */
private[ordered] final class JoinedCells(bytes: Array[Long], target: Long, maxFill: Double) {
  private val below = bytes.scanLeft(0L)(_ + _)

  /** First and last, exclusive, of each part; together all cells in their order. */
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

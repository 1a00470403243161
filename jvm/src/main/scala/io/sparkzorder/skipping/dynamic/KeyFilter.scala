package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions.{Expression, Or}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation

import io.sparkzorder.skipping.scan.{RuntimeFilterBridge, SideOfKeys}

/**
 * The keys that one side of a join has, on their way down the other side.
 *
 * @param key what must be one of the keys, in terms of the plan that the filter has reached
 * @param sources where the keys come from: one side of a join, or several if equal parts of a plan
 *   get one filter
 * @param isAbovePlain true if nothing between the join of the keys and this place of the plan can fail on
 *   a row that the join drops
 */
private[dynamic] final case class KeyFilter(
    key: Expression,
    sources: Seq[KeySource],
    isAbovePlain: Boolean = true) {
  def expression: Expression = sources.map(s =>
    RuntimeFilterBridge.pruning(key, s.build, s.keys, s.position, s.onlyInBroadcast): Expression)
    .reduce(Or)

  def isWorth(share: Double, relation: LogicalRelation): Boolean =
    sources.forall(_.isWorth(share, relation))

  /** True if the keys may be used for the record of the workload alone: they cost nothing. */
  def isForRecord: Boolean = sources.forall(_.isForRecord)

  /** True once the filter has reached a relation. */
  def isUsed: Boolean = sources.exists(_.isUsed)

  def markUsed(): Unit = sources.foreach(_.isUsed = true)
}

/**
 * @param build the side of the join, exactly as the join has it
 * @param keys all keys of the join on this side
 * @param position of the filter's key among them
 * @param onlyInBroadcast false if Spark may run `build` once more for the keys
 * @param isForRecord true if the join makes a broadcast of `build` anyway, and no filter is left out of
 *   `build` for the sake of the keys
 */
private[dynamic] final class KeySource(
    val build: LogicalPlan,
    val keys: Seq[Expression],
    val position: Int,
    val onlyInBroadcast: Boolean,
    val isForRecord: Boolean) {

  /**
   * A second run of `build` must cost less than reading the files that the keys let go.
   *
   * @param share of the relation's files that one key reads
   */
  def isWorth(share: Double, relation: LogicalRelation): Boolean = onlyInBroadcast || {
    val cost = build.collectLeaves().map(_.stats.sizeInBytes).sum
    BigDecimal(cost) < BigDecimal(relation.stats.sizeInBytes) * (1 - share)
  }

  private[dynamic] var isUsed: Boolean = false

  /** The same source, not used yet. */
  def fresh: KeySource = new KeySource(build, keys, position, onlyInBroadcast, isForRecord)

  /** Equal for two sources of the same keys. */
  lazy val form: Any = (SideOfKeys.of(build, keys, Seq(position)), onlyInBroadcast)
}

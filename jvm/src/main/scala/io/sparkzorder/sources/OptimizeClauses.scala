// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * The clauses of an OPTIMIZE statement as written, except WHERE.
 *
 * @param full true if the statement has FULL
 * @param columns the name parts of each ordering column; empty without ZORDER BY
 * @param into the directory of INTO
 * @param options the keys and values of OPTIONS
 * @param dryRun true if the statement has DRY RUN
 * @param auto true if the statement has ZORDER BY AUTO
 */
private[sparkzorder] final case class OptimizeClauses(
    full: Boolean = false,
    columns: Seq[Seq[String]] = Nil,
    into: Option[String] = None,
    options: Map[String, String] = Map.empty,
    dryRun: Boolean = false,
    auto: Boolean = false) {

  /** What EXPLAIN shows of the statement. It is a text for people, without OPTIONS and without escapes. */
  def describe(target: String, where: Option[WherePredicate]): String = {
    val filter = where.map(w => s" WHERE $w").getOrElse("")
    val by =
      if (auto) " ZORDER BY AUTO"
      else if (columns.isEmpty) ""
      else columns.map(_.mkString(".")).mkString(" ZORDER BY (", ", ", ")")
    val ofFull = if (full) " FULL" else ""
    val ofInto = into.map(d => s" INTO '$d'").getOrElse("")
    val ofDryRun = if (dryRun) " DRY RUN" else ""
    s"Optimize $target$ofFull$filter$by$ofInto$ofDryRun"
  }
}

/** A WHERE predicate in a wrapper, so that the analyzer does not try to resolve its columns. */
private[sparkzorder] final case class WherePredicate(condition: Expression) {
  override def toString: String = condition.sql
}

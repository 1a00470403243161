package io.sparkzorder.commands.optimize

/**
 * The clauses of an OPTIMIZE statement as written.
 *
 * @param full FULL was given
 * @param columns name parts of the ordering columns; empty without ZORDER BY
 * @param into directory of INTO
 * @param options OPTIONS
 * @param dryRun DRY RUN was given
 */
final case class OptimizeClauses(
    full: Boolean = false,
    columns: Seq[Seq[String]] = Nil,
    into: Option[String] = None,
    options: Map[String, String] = Map.empty,
    dryRun: Boolean = false)

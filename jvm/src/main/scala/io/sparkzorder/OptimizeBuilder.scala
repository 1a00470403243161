// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import scala.annotation.varargs

import org.apache.spark.sql.DataFrame

import io.sparkzorder.util.StatementText

/**
 * Builds an OPTIMIZE statement. `ZOrderTable.optimize` returns a new builder. A builder is
 * immutable: each method that adds a clause returns a new builder.
 *
 * `executeCompaction`, `executeZOrderBy` and `executeZOrderByAuto` run the statement and return its result
 * row. `toString` returns the statement so far, without ZORDER BY.
 *
 * @since 0.3.0
 */
final class OptimizeBuilder private (
    run: String => DataFrame,
    verbatim: () => Boolean,
    target: String,
    isFull: Boolean,
    predicate: Option[String],
    directory: Option[String],
    options: Seq[(String, String)],
    isDryRun: Boolean) {

  /** @param verbatim whether the session has set `StatementText.VerbatimLiterals` */
  private[sparkzorder] def this(
      run: String => DataFrame,
      verbatim: () => Boolean,
      target: String) =
    this(run, verbatim, target, false, None, None, Nil, false)

  /**
   * Restricts the run to the partitions and files that `condition` chooses. Several conditions are
   * combined by AND.
   *
   * @param condition a condition in SQL. A conjunct on partition columns chooses partitions. A
   *   conjunct on data columns chooses the files that, by min and max in their footers, may have a
   *   matching row. With `into`, only partition columns are allowed.
   * @throws IllegalArgumentException if the condition is blank
   */
  def where(condition: String): OptimizeBuilder = {
    require(condition.trim.nonEmpty, "condition is empty")
    // without a line break, a `--` comment in the condition would hide the clauses behind it
    val closed = if (condition.contains("--")) s"$condition\n" else condition
    copy(predicate = Some(predicate.fold(closed)(p => s"($p) AND ($closed)")))
  }

  /** Rewrites all files, even those whose layout is still good. */
  def full(): OptimizeBuilder = copy(isFull = true)

  /**
   * Writes the result into an empty directory and does not change the table.
   *
   * @throws IllegalArgumentException if the path is empty
   */
  def into(path: String): OptimizeBuilder = {
    require(path.nonEmpty, "directory is empty")
    copy(directory = Some(path))
  }

  /** Changes a setting for this run only, as in `option("targetFileSize", "64m")`. */
  def option(key: String, value: String): OptimizeBuilder =
    copy(options = options.filterNot(_._1.equalsIgnoreCase(key)) :+ (key -> value))

  /** As `option(key, value.toString)`. */
  def option(key: String, value: Boolean): OptimizeBuilder = option(key, value.toString)

  /** As `option(key, value.toString)`. */
  def option(key: String, value: Long): OptimizeBuilder = option(key, value.toString)

  /**
   * Makes the run a DRY RUN. It samples rows, changes nothing and returns what a real run would do.
   */
  def dryRun(): OptimizeBuilder = copy(isDryRun = true)

  /**
   * Runs the statement without ZORDER BY. The ordering columns are those of the table's layout,
   * else those of the table property `zorder.columns`. A table with neither is only compacted.
   */
  def executeCompaction(): DataFrame = run(statement(None))

  /**
   * Runs the statement with `ZORDER BY (columns)`.
   *
   * @param columns at least one; `a.b` is the field `b` of `a`
   * @throws IllegalArgumentException without a column
   */
  @varargs
  def executeZOrderBy(columns: String*): DataFrame = {
    require(columns.nonEmpty, "executeZOrderBy needs at least one column")
    run(statement(Some(s"ZORDER BY ${StatementText.columns(columns)}")))
  }

  /** Runs the statement with `ZORDER BY AUTO`: the recorded workload chooses the columns. */
  def executeZOrderByAuto(): DataFrame = run(statement(Some("ZORDER BY AUTO")))

  override def toString: String = statement(None)

  private def statement(order: Option[String]): String = {
    val clauses = Seq(
      Some(s"OPTIMIZE TABLE $target"),
      if (isFull) Some("FULL") else None,
      predicate.map(p => s"WHERE $p"),
      order,
      directory.map(d => s"INTO ${StatementText.string(d, verbatim())}"),
      if (options.isEmpty) None else Some(StatementText.options(options, verbatim())),
      if (isDryRun) Some("DRY RUN") else None)
    clauses.flatten.mkString(" ")
  }

  private def copy(
      isFull: Boolean = this.isFull,
      predicate: Option[String] = this.predicate,
      directory: Option[String] = this.directory,
      options: Seq[(String, String)] = this.options,
      isDryRun: Boolean = this.isDryRun): OptimizeBuilder =
    new OptimizeBuilder(run, verbatim, target, isFull, predicate, directory, options, isDryRun)
}

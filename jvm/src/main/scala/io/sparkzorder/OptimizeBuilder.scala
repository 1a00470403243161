package io.sparkzorder

import scala.annotation.varargs

import org.apache.spark.sql.DataFrame

import io.sparkzorder.util.StatementText

/**
 * An OPTIMIZE in the making; every method returns a new builder and leaves this one. Get one by
 * `ZOrderTable.optimize`.
 *
 * The two methods that begin with `execute` run the statement and return its one row; a builder as text
 * is the statement so far.
 *
 * @since 0.1.0
 */
final class OptimizeBuilder private (
    run: String => DataFrame,
    target: String,
    isFull: Boolean,
    predicate: Option[String],
    directory: Option[String],
    options: Seq[(String, String)],
    isDryRun: Boolean) {

  private[sparkzorder] def this(run: String => DataFrame, target: String) =
    this(run, target, false, None, None, Nil, false)

  /**
   * Takes only what `condition` chooses; a second one is added by AND.
   *
   * @param condition in SQL. A part of it on partition columns chooses partitions, one with data columns
   *   the files in which a row may match, by the min/max of their footers. With `into` it may use
   *   partition columns only.
   */
  def where(condition: String): OptimizeBuilder = {
    require(condition.trim.nonEmpty, "condition is empty")
    // what follows must not become a part of a comment at its end
    val closed = if (condition.contains("--")) s"$condition\n" else condition
    copy(predicate = Some(predicate.fold(closed)(p => s"($p) AND ($closed)")))
  }

  /** Lays out all files, also those that are well placed. */
  def full(): OptimizeBuilder = copy(isFull = true)

  /** Writes the laid-out table into an empty directory, and leaves this one alone. */
  def into(path: String): OptimizeBuilder = {
    require(path.nonEmpty, "directory is empty")
    copy(directory = Some(path))
  }

  /** Sets one of the settings for this run, such as `option("targetFileSize", "64m")`. */
  def option(key: String, value: String): OptimizeBuilder =
    copy(options = options.filterNot(_._1.equalsIgnoreCase(key)) :+ (key -> value))

  /** As `option(key, value.toString)`. */
  def option(key: String, value: Boolean): OptimizeBuilder = option(key, value.toString)

  /** As `option(key, value.toString)`. */
  def option(key: String, value: Long): OptimizeBuilder = option(key, value.toString)

  /** Changes nothing: only samples, and returns what a run would do. */
  def dryRun(): OptimizeBuilder = copy(isDryRun = true)

  /**
   * Runs it by the columns of the table's layout or of its property `zorder.columns`. A table that has
   * neither is merely compacted: small files become larger ones.
   */
  def executeCompaction(): DataFrame = run(statement(None))

  /**
   * Runs it, ordering by `columns`.
   *
   * @param columns at least one; `a.b` is the field `b` of `a`
   */
  @varargs
  def executeZOrderBy(columns: String*): DataFrame = {
    require(
      columns.nonEmpty,
      "executeZOrderBy requires > 0 parameters but the actual number is 0")
    run(statement(Some(s"ZORDER BY ${StatementText.columns(columns)}")))
  }

  override def toString: String = statement(None)

  private def statement(order: Option[String]): String = {
    val written = options.map { case (k, v) =>
      s"${StatementText.string(k)} ${StatementText.string(v)}"
    }
    val clauses = Seq(
      Some(s"OPTIMIZE TABLE $target"),
      if (isFull) Some("FULL") else None,
      predicate.map(p => s"WHERE $p"),
      order,
      directory.map(d => s"INTO ${StatementText.string(d)}"),
      if (written.isEmpty) None else Some(written.mkString("OPTIONS (", ", ", ")")),
      if (isDryRun) Some("DRY RUN") else None)
    clauses.flatten.mkString(" ")
  }

  private def copy(
      isFull: Boolean = this.isFull,
      predicate: Option[String] = this.predicate,
      directory: Option[String] = this.directory,
      options: Seq[(String, String)] = this.options,
      isDryRun: Boolean = this.isDryRun): OptimizeBuilder =
    new OptimizeBuilder(run, target, isFull, predicate, directory, options, isDryRun)
}

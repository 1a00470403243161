// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import scala.annotation.varargs

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.StatementText

/**
 * The statements of spark-zorder on one table, with the method names of `DeltaTable`.
 *
 * Every method except `toDF` and `optimize` runs one SQL statement at once and returns its rows. The class uses only
 * the public interface of the session, so it works over Spark Connect too.
 *
 * {{{
 * val sales = ZOrderTable.forName(spark, "shop.sales")
 * sales.optimize().where("day = '2026-01-01'").executeZOrderBy("customer_id", "sold_at")
 * sales.layout("customer_id", "sold_at").show()
 * sales.history(5).show()
 * sales.undo()
 * }}}
 *
 * @since 0.3.0
 */
final class ZOrderTable private (spark: SparkSession, target: String) {

  /** Returns the table as a data frame. */
  def toDF: DataFrame = spark.table(target)

  /** Returns a builder; its `executeCompaction` or `executeZOrderBy` runs OPTIMIZE. */
  def optimize(): OptimizeBuilder = new OptimizeBuilder(run, () => verbatim, target)

  /** Describes the layout of the table: `SHOW LAYOUT`. */
  def detail(): DataFrame = run(s"SHOW LAYOUT $target")

  /**
   * Reports how well queries on `columns` skip files: `SHOW LAYOUT ... FOR`.
   *
   * @param columns column names, where `a.b` is the field `b` of `a`; if empty, the columns of the last layout, else
   *   those of the property `zorder.columns`, else the first 32 columns that have an order
   */
  @varargs
  def layout(columns: String*): DataFrame =
    if (columns.isEmpty) detail()
    else run(s"SHOW LAYOUT $target FOR ${StatementText.columns(columns)}")

  /** Lists the runs that changed the table's layout, newest first. */
  def history(): DataFrame = run(s"SHOW LAYOUT HISTORY $target")

  /** @param limit the greatest number of runs to list; at least 1 */
  def history(limit: Int): DataFrame = {
    require(limit >= 1, s"limit must be at least 1, but is $limit")
    history().limit(limit)
  }

  /**
   * Deletes files whose retention is over: files that a run has replaced, and files that a dead run has
   * left behind. Each run has its own retention.
   *
   * @return one row for each directory or file
   */
  def vacuum(): DataFrame = vacuum(dryRun = false)

  /** @param dryRun true to delete nothing and only return the rows of the files that would be deleted */
  def vacuum(dryRun: Boolean): DataFrame = vacuum(None, dryRun)

  /**
   * Like `vacuum()`, with a retention in hours.
   *
   * @param hours at least 0; with 0, runs that are in progress fail, because their files are deleted, too
   * @param dryRun true to delete nothing and only return the rows of the files that would be deleted
   */
  def vacuum(hours: Long, dryRun: Boolean = false): DataFrame = {
    require(hours >= 0, s"hours must be at least 0, but is $hours")
    vacuum(Some(hours), dryRun)
  }

  private def vacuum(hours: Option[Long], dryRun: Boolean): DataFrame = {
    val retain = hours.map(h => s" RETAIN $h HOURS").getOrElse("")
    run(s"VACUUM LAYOUT $target$retain${if (dryRun) " DRY RUN" else ""}")
  }

  /** Returns the recorded workload of the table, with a row for each form of filters: `SHOW WORKLOAD`. */
  def workload(): DataFrame = run(s"SHOW WORKLOAD $target")

  /**
   * Restores the files that the last run replaced: `UNDO LAYOUT`. A second call undoes the run before the
   * last run. If files of the run were removed or changed after the run, the call fails and changes
   * nothing.
   */
  def undo(): DataFrame = run(s"UNDO LAYOUT $target")

  /**
   * Puts the files of a shadow layout, which are hidden beside the old files, in the place of the old
   * files, so that every reader sees them: `PUBLISH LAYOUT`. This works only on file systems that can
   * rename files.
   */
  def publish(): DataFrame = run(s"PUBLISH LAYOUT $target")

  /**
   * Like `publish()`, for some partitions only.
   *
   * @param where a predicate on partition columns, as in SQL
   * @throws IllegalArgumentException if the predicate is blank
   */
  def publish(where: String): DataFrame = {
    require(where.trim.nonEmpty, "where is empty")
    run(s"PUBLISH LAYOUT $target WHERE $where")
  }

  /** Finishes runs that were interrupted after their commit: `RECOVER LAYOUT`. */
  def recover(): DataFrame = recover(abandon = false)

  /**
   * Finishes or abandons runs that were interrupted after their commit.
   *
   * @param abandon true to abandon the runs: where a run is not published, its input files are restored
   */
  def recover(abandon: Boolean): DataFrame =
    run(s"RECOVER LAYOUT $target${if (abandon) " ABANDON" else ""}")

  /**
   * Builds the skipping index.
   *
   * @param columns
   *   columns to index; if empty, the first 32 leaf columns of each file and the ordering columns
   */
  @varargs
  def createIndex(columns: String*): DataFrame = createIndex(columns, Map.empty[String, String])

  /**
   * Builds the skipping index.
   *
   * @param columns
   *   columns to index; if empty, the first 32 leaf columns of each file and the ordering columns
   * @param options
   *   options of the index, such as `int96` with the value `read`
   */
  def createIndex(columns: Seq[String], options: Map[String, String]): DataFrame =
    createIndex(columns, options, Nil)

  /**
   * Builds the skipping index, with an index of values.
   *
   * @param columns
   *   columns to index; if empty, the first 32 leaf columns of each file and the ordering columns
   * @param options
   *   options of the index, such as `int96` with the value `read`
   * @param values
   *   columns whose single values are indexed: the option `values`; if empty, those of the option or of the
   *   property `zorder.index.values`
   * @throws IllegalArgumentException if `options` has the option `values`, too
   */
  def createIndex(
      columns: Seq[String],
      options: Map[String, String],
      values: Seq[String]): DataFrame = {
    require(
      values.isEmpty || !options.keys.exists(_.equalsIgnoreCase("values")),
      "give values either as an argument or as an option, but not as both")
    val all =
      if (values.isEmpty) options
      else options + ("values" -> values.map(StatementText.identifier).mkString(", "))
    val list = if (columns.isEmpty) "" else s" ${StatementText.columns(columns)}"
    val more = if (all.isEmpty) "" else s" ${StatementText.options(all, verbatim)}"
    run(s"CREATE ZORDER INDEX ON $target$list$more")
  }

  /**
   * Declares the order in which later writes put rows into files: `ALTER TABLE ... SORT BY ZORDER`.
   *
   * @param columns the ordering columns; if empty, the declaration is removed
   */
  @varargs
  def sortBy(columns: String*): DataFrame = sortBy("zorder", columns)

  /**
   * Like `sortBy(columns)`, with a given order.
   *
   * @param order `zorder` to order rows by all columns together, or `lexical` to sort rows by the first
   *   column, then by the second, and so on
   */
  def sortBy(order: String, columns: Seq[String]): DataFrame = {
    val word = order.toUpperCase(java.util.Locale.ROOT)
    require(
      word == "ZORDER" || word == "LEXICAL",
      s"order must be zorder or lexical, but is $order")
    val clause = if (columns.isEmpty) "()" else s"$word ${StatementText.columns(columns)}"
    run(s"ALTER TABLE $target SORT BY $clause")
  }

  override def toString: String = s"ZOrderTable($target)"

  private def verbatim: Boolean =
    spark.conf.getOption(StatementText.VerbatimLiterals).exists(_.equalsIgnoreCase("true"))

  private def run(statement: String): DataFrame =
    try spark.sql(statement)
    catch {
      // A ParseException has two causes: a wrong predicate, or a session without the extension.
      case e: ParseException =>
        if (spark.catalog.functionExists("interleave_bits")) throw e
        throw ZOrderErrors.extensionMissing(statement)
    }
}

object ZOrderTable {

  /**
   * A table of the catalog.
   *
   * @param name as in SQL: `sales`, `shop.sales`, or with a part in back quotes; anything else
   *   raises Spark's `INVALID_ATTRIBUTE_NAME_SYNTAX`
   */
  def forName(spark: SparkSession, name: String): ZOrderTable =
    new ZOrderTable(spark, StatementText.identifier(name))

  /**
   * A table by its directory.
   *
   * @param path the root directory of the table, as for `spark.read.parquet`. `toDF` reads all files
   *   in it; name a Delta table ``forName(spark, "delta.`/path`")``, because its directory holds
   *   removed files too
   */
  def forPath(spark: SparkSession, path: String): ZOrderTable = {
    require(path.nonEmpty, "path is empty")
    new ZOrderTable(spark, s"parquet.${quoteIdentifier(path)}")
  }
}

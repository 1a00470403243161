package io.sparkzorder

import scala.annotation.varargs

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.StatementText

/**
 * A table of Parquet files, by name or by path, as a handle for its layout: the statements of
 * spark-zorder with the method names of `DeltaTable`.
 *
 * Every method writes one SQL statement, which runs at once, and returns that statement's rows. It
 * needs no more of Spark than the session's public interface.
 *
 * {{{
 * val sales = ZOrderTable.forName(spark, "shop.sales")
 * sales.optimize().where("day = '2026-01-01'").executeZOrderBy("customer_id", "sold_at")
 * sales.layout("customer_id", "sold_at").show()
 * sales.history(5).show()
 * sales.undo()
 * }}}
 *
 * @since 0.1.0
 */
final class ZOrderTable private (spark: SparkSession, target: String) {

  /** Reads the table. */
  def toDF: DataFrame = spark.table(target)

  /** Begins an OPTIMIZE; it runs by `executeCompaction` or `executeZOrderBy`. */
  def optimize(): OptimizeBuilder = new OptimizeBuilder(run, target)

  /** Describes the layout that the table has: `SHOW LAYOUT`. */
  def detail(): DataFrame = run(s"SHOW LAYOUT $target")

  /**
   * Reports how well queries on `columns` skip files: `SHOW LAYOUT ... FOR`.
   *
   * @param columns those of the table's layout when there are none; `a.b` is the field `b` of `a`
   */
  @varargs
  def layout(columns: String*): DataFrame =
    if (columns.isEmpty) detail()
    else run(s"SHOW LAYOUT $target FOR ${StatementText.columns(columns)}")

  /** Lists the runs that changed the table's layout, the newest first. */
  def history(): DataFrame = run(s"SHOW LAYOUT HISTORY $target")

  /** @param limit how many runs at most, at least 1 */
  def history(limit: Int): DataFrame = {
    require(limit >= 1, s"limit must be at least 1, but is $limit")
    history().limit(limit)
  }

  /**
   * Deletes replaced files, and files of dead runs, that are older than the retention of each run.
   *
   * @return a row for each directory or file
   */
  def vacuum(): DataFrame = vacuum(dryRun = false)

  /** @param dryRun true: deletes nothing, only returns what a run would do */
  def vacuum(dryRun: Boolean): DataFrame = vacuum(None, dryRun)

  /**
   * As `vacuum()`, with the retention.
   *
   * @param hours at least 0, which also ends runs that are under way
   * @param dryRun true: deletes nothing, only returns what a run would do
   */
  def vacuum(hours: Long, dryRun: Boolean = false): DataFrame = {
    require(hours >= 0, s"hours must be at least 0, but is $hours")
    vacuum(Some(hours), dryRun)
  }

  private def vacuum(hours: Option[Long], dryRun: Boolean): DataFrame = {
    val retain = hours.map(h => s" RETAIN $h HOURS").getOrElse("")
    run(s"VACUUM LAYOUT $target$retain${if (dryRun) " DRY RUN" else ""}")
  }

  /**
   * Puts back the files that the last run replaced; a second one undoes the run before. Refused, with
   * nothing touched, when files of the run were removed or changed since.
   */
  def undo(): DataFrame = run(s"UNDO LAYOUT $target")

  /** Finishes a run that was interrupted after its commit. */
  def recover(): DataFrame = run(s"RECOVER LAYOUT $target")

  /**
   * Builds the skipping index.
   *
   * @param columns
   *   without any, the first 32 leaf columns of each file and the ordering columns
   */
  @varargs
  def createIndex(columns: String*): DataFrame = {
    val list = if (columns.isEmpty) "" else s" ${StatementText.columns(columns)}"
    run(s"CREATE ZORDER INDEX ON $target$list")
  }

  override def toString: String = s"ZOrderTable($target)"

  private def run(statement: String): DataFrame =
    try spark.sql(statement)
    catch {
      // also raised for a wrong WHERE text, so the session is blamed only after asking it
      case e: ParseException =>
        if (spark.catalog.functionExists("interleave_bits")) throw e
        throw ZOrderErrors.extensionMissing(statement)
    }
}

object ZOrderTable {

  /**
   * Takes a table of the catalog.
   *
   * @param name as in SQL: `sales`, `shop.sales`, or with a part in back-quotes. What is not a name is
   *   refused by Spark's `INVALID_ATTRIBUTE_NAME_SYNTAX`
   */
  def forName(spark: SparkSession, name: String): ZOrderTable =
    new ZOrderTable(spark, StatementText.identifier(name))

  /**
   * Takes the table in a directory.
   *
   * @param path the table's root, as `spark.read.parquet` would take it
   */
  def forPath(spark: SparkSession, path: String): ZOrderTable = {
    require(path.nonEmpty, "path is empty")
    new ZOrderTable(spark, s"parquet.${quoteIdentifier(path)}")
  }
}

package io.sparkzorder.commands.index

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.{CommandExecutionMode, FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.PartitionDirectory
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.skipping.predicate.ConjunctUse
import io.sparkzorder.skipping.scan.{IndexPruning, PrunedListing, ZOrderFileIndex}

/** A query in a wrapper, so that the analyzer does not look inside; planned when the statement runs. */
final case class SkippingQuery(plan: LogicalPlan, text: String) {
  override def toString: String = text
}

/**
 * SHOW SKIPPING FOR query: for each scan of files that the query would make, how many files are
 * read, and how many files each conjunct of its filters prunes. The query is planned, not run.
 */
final case class ShowSkippingCommand(query: SkippingQuery) extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] =
    DataTypeUtils.toAttributes(ShowSkippingCommand.schema)

  override def simpleString(maxFields: Int): String = s"ShowSkipping ${query.text}"

  override def run(session: SparkSession): Seq[Row] = {
    val state = SparkLine.session(session).sessionState
    // SKIP: a statement that changes something must not run
    val execution = state.executePlan(query.plan, CommandExecutionMode.SKIP)
    execution.analyzed.find(_.isInstanceOf[Command]).foreach { _ =>
      throw ZOrderErrors.notAQuery(query.text)
    }
    // before adaptive execution wraps it, and without scans of subqueries, which come later
    scans(execution.sparkPlan).zipWithIndex.flatMap { case (scan, i) =>
      new ScanReport(i + 1, scan).rows
    }
  }

  private def scans(plan: SparkPlan): Seq[FileSourceScanExec] =
    plan.collect { case s: FileSourceScanExec => s }
}

object ShowSkippingCommand {

  /** Columns of the result. */
  val schema: StructType = new StructType()
    .add("scan", IntegerType, nullable = false)
    .add("table", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("filesKept", LongType, nullable = false)
    .add("predicate", StringType)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("used", BooleanType, nullable = false)
    .add("filesDropped", LongType)
    .add("reason", StringType)
}

/** The rows of one scan: one row per conjunct, or one row that says why there is no conjunct. */
private final class ScanReport(number: Int, scan: FileSourceScanExec) {
  private val location = scan.relation.location

  private val table = scan.tableIdentifier.map(_.quotedString)
    .getOrElse(location.rootPaths.mkString(", "))

  private def count(directories: Seq[PartitionDirectory]): Long =
    directories.map(_.files.size.toLong).sum

  def rows: Seq[Row] = location match {
    case ours: ZOrderFileIndex =>
      val listed = ours.unpruned(scan.partitionFilters, scan.dataFilters)
      val pruning = new IndexPruning(scan.relation, scan.output, ours.roots)
      val uses = pruning.ask(scan.dataFilters)
      val files = count(listed)
      val kept = count(PrunedListing.of(listed, pruning.prunerOf(uses)).directories)
      val conjuncts = uses.flatMap { u =>
        u.filter.toSeq.flatMap { f =>
          val dropped = f.dropped.toMap
          f.conjuncts.map(c => row(files, kept, c, dropped.get(c).map(_.toLong)))
        }
      }
      if (conjuncts.nonEmpty) conjuncts
      else {
        val reason = uses.flatMap(_.reason).headOption.getOrElse(
          if (scan.dataFilters.isEmpty) "no filter on data columns" else "skipping is off")
        Seq(Row(number, table, files, kept, null, Nil, false, null, reason))
      }
    case other =>
      val files = count(other.listFiles(scan.partitionFilters, scan.dataFilters))
      val reason = s"not a scan of plain Parquet or ORC files: ${scan.relation.fileFormat}"
      Seq(Row(number, table, files, files, null, Nil, false, null, reason))
  }

  private def row(files: Long, kept: Long, c: ConjunctUse, dropped: Option[Long]): Row =
    Row(
      number,
      table,
      files,
      kept,
      c.predicate,
      c.columns,
      c.used,
      dropped.map(Long.box).orNull,
      c.reason.orNull)
}

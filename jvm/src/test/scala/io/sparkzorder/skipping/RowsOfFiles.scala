// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.net.URI

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * What a predicate is for the rows of a table.
 *
 * @param files names of those with a row for which it is true
 * @param error what it raised for some row, if it did
 */
final case class Truth(files: Set[String], error: Option[Throwable])

/**
 * All rows of a plan by the file that they are from, read once by Spark without any filter: predicates
 * are evaluated on them one by one by Spark's own expressions.
 */
final class RowsOfFiles(session: Session, plan: LogicalPlan) {
  private val rows: Map[String, Seq[InternalRow]] = {
    val named = Project(plan.output :+ Alias(InputFileName(), "file")(), plan)
    val last = plan.output.size
    SparkLine.frame(session, named).queryExecution.executedPlan.executeCollect().toSeq
      .groupBy(r => new Path(new URI(r.getUTF8String(last).toString)).getName)
  }

  def truth(predicate: Expression): Truth = {
    val bound = BindReferences.bindReference(predicate, plan.output)
    var error = Option.empty[Throwable]
    def holds(row: InternalRow): Boolean =
      try bound.eval(row) == true
      catch {
        case NonFatal(e) =>
          error = Some(e)
          false
      }
    val files = rows.collect { case (file, some) if some.exists(holds) => file }
    Truth(files.toSet, error)
  }
}

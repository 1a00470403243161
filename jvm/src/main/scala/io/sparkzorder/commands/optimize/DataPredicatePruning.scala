package io.sparkzorder.commands.optimize

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan}
import org.apache.spark.sql.execution.datasources.{
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.sources.BaseRelation
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.WhereClause
import io.sparkzorder.skipping.predicate.FilterOnFooters

/**
 * Prunes files by the predicates on data columns of a WHERE clause: a file is kept when a row may match
 * by the minima and maxima of its footer. Spark resolves and simplifies the predicate as it does for a
 * query, so that constants, casts and time zones mean the same there and here. No row is read.
 */
private[optimize] object DataPredicatePruning {

  /**
   * @return paths of the files that are kept; None where the clause says nothing of data columns
   * @throws org.apache.spark.sql.AnalysisException as for a query with this predicate
   */
  def prune(inputs: RewriteInputs, where: WhereClause): Option[Set[Path]] =
    // without files there is no schema to look columns up in
    where.onFiles.filter(_ => inputs.files.nonEmpty).map(prune(inputs, where, _))

  private def prune(
      inputs: RewriteInputs,
      where: WhereClause,
      predicate: Expression): Set[Path] = {
    val session = inputs.session
    val relation = HadoopFsRelation(
      // only planned, so that it needs no files
      new InMemoryFileIndex(session, Nil, Map.empty, None),
      inputs.listed.partitionSchema,
      inputs.schema,
      None,
      inputs.target.format.reader,
      Map.empty)(session)
    val table = where.named(LogicalRelation(relation))
    val query = SparkLine.frame(session, Filter(predicate, table)).queryExecution
    matching(inputs, query.optimizedPlan, relation)
  }

  private def matching(
      inputs: RewriteInputs,
      plan: LogicalPlan,
      relation: HadoopFsRelation): Set[Path] = {
    val filters = plan.collect { case f: Filter => f.condition }
    def isOwn(r: BaseRelation) = r match {
      // a relation whose columns were pruned is another relation of the same location
      case fs: HadoopFsRelation => fs.location eq relation.location
      case _ => false
    }
    val files =
      plan.collectFirst { case r: LogicalRelation if isOwn(r.relation) => r.output } match {
        case Some(output) =>
          val conf = inputs.session.sessionState.conf
          val filter =
            new FilterOnFooters(output, inputs.schema, inputs.listed.partitionSchema, conf)
          val kept = filter(filters, inputs.files)
          inputs.files.zipWithIndex.collect { case (f, i) if kept.get(i) => f }
        // where the predicate can never be true, no relation is left in the plan
        case None if plan.collectLeaves().forall(isEmpty) => Nil
        case None => inputs.files
      }
    files.map(_.file.path).toSet
  }

  private def isEmpty(leaf: LogicalPlan): Boolean = leaf match {
    case rows: LocalRelation => rows.data.isEmpty
    case _ => false
  }
}

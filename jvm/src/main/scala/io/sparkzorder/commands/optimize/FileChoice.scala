package io.sparkzorder.commands.optimize

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
 * Which files the predicates on data columns of a WHERE clause choose: those in which a row may match
 * by the least and greatest values that their footers have. Spark resolves and simplifies the predicate
 * as that of a query, so constants, casts and time zones are what they are there. No row is read.
 */
private[sparkzorder] object FileChoice {

  /**
   * @return ordinals of the chosen files; None where the clause says nothing of data columns
   * @throws org.apache.spark.sql.AnalysisException as for a query with this predicate
   */
  def choose(p: Prepared, where: WhereClause): Option[Set[Int]] =
    // without files there is no schema to look columns up in
    where.onFiles.filter(_ => p.footers.nonEmpty).map(choose(p, where, _))

  private def choose(p: Prepared, where: WhereClause, predicate: Expression): Set[Int] = {
    val relation = HadoopFsRelation(
      // only planned, so that it needs no files
      new InMemoryFileIndex(p.session, Nil, Map.empty, None),
      p.files.partitionSchema,
      p.schema,
      None,
      p.target.format.reader,
      Map.empty)(p.session)
    val table = where.named(LogicalRelation(relation))
    val query = SparkLine.frame(p.session, Filter(predicate, table)).queryExecution
    matching(p, query.optimizedPlan, relation)
  }

  private def matching(
      p: Prepared,
      plan: LogicalPlan,
      relation: HadoopFsRelation): Set[Int] = {
    val filters = plan.collect { case f: Filter => f.condition }
    def isOwn(r: BaseRelation) = r match {
      // one whose columns were pruned is another one of the same location
      case fs: HadoopFsRelation => fs.location eq relation.location
      case _ => false
    }
    plan.collectFirst { case r: LogicalRelation if isOwn(r.relation) => r.output } match {
      case Some(output) =>
        val conf = p.session.sessionState.conf
        val judge = new FilterOnFooters(output, p.schema, p.files.partitionSchema, conf)
        val chosen = judge(filters, p.footers)
        p.footers.zipWithIndex.collect { case (f, i) if chosen.get(i) => f.file.ordinal }.toSet
      // where the predicate can never be true, no relation is left in the plan
      case None if plan.collectLeaves().forall(isEmpty) => Set.empty
      case None => p.footers.map(_.file.ordinal).toSet
    }
  }

  private def isEmpty(leaf: LogicalPlan): Boolean = leaf match {
    case rows: LocalRelation => rows.data.isEmpty
    case _ => false
  }
}

package io.sparkzorder.sources.iceberg

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.iceberg.BaseTable
import org.apache.iceberg.expressions.{Expression => IcebergExpression, Expressions}
import org.apache.iceberg.spark.SparkSchemaUtil

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, SubqueryAlias}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter.DummyRelation
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.errors.ZOrderErrors

/** Turns a WHERE clause into the filter of an Iceberg scan, in the way of Iceberg's procedures. */
private[iceberg] final class IcebergFilter(table: BaseTable, name: String) {

  /** @param where with unresolved columns */
  def of(where: Expression): IcebergExpression = {
    val session = SparkLine.session(SparkSession.active)
    val columns = DataTypeUtils.toAttributes(SparkSchemaUtil.convert(table.schema))
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
    val relation = SubqueryAlias(parts.last, DummyRelation(columns))
    val optimized = session.sessionState.executePlan(Filter(where, relation)).optimizedPlan
    val condition = optimized.collectFirst {
      case f: Filter => f.condition
      case _: DummyRelation => Literal.TrueLiteral
      case _: LocalRelation => Literal.FalseLiteral
    }
    condition match {
      case Some(Literal.TrueLiteral) => Expressions.alwaysTrue()
      case Some(Literal.FalseLiteral) => Expressions.alwaysFalse()
      case Some(c) =>
        try SparkExpressionConverter.convertToIcebergExpression(c)
        catch {
          case NonFatal(e) => throw untranslatable(where, e)
        }
      case None => throw new IllegalStateException(s"no filter in $optimized")
    }
  }

  private def untranslatable(where: Expression, cause: Throwable): Throwable =
    ZOrderErrors.predicateNotTranslatable(
      Try(where.sql).getOrElse(where.toString),
      name,
      s"Iceberg cannot evaluate it, ${String.valueOf(cause.getMessage).linesIterator.next().stripSuffix(".")}")
}

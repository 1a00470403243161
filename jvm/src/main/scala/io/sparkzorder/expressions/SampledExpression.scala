// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}

import io.sparkzorder.expressions.sampling.SampleReader
import io.sparkzorder.ordering.{ColumnRangeIds, FixedOrder, OrderedType, ZCurve}

/**
 * An expression over columns of one input of an operator. A subquery gives the expression a sample of this input.
 */
private[sparkzorder] sealed trait SampledExpression extends Expression

/**
 * The range id of a column. Its ranges come from a sample that Spark draws when the query runs.
 *
 * @param buckets the number of ranges; ids are from 0 to `buckets - 1`
 * @param sample BINARY, a subquery over the operator's input; evaluated only for the first row
 * @param position the column's position in the sample
 */
private[sparkzorder] case class RangeIdBySample(
    child: Expression,
    buckets: Int,
    sample: Expression,
    position: Int)
    extends SampledExpression {

  override def children: Seq[Expression] = Seq(child, sample)
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def foldable: Boolean = false
  // `sample` does not count: Spark draws the sample once, so all rows see the same one
  override lazy val deterministic: Boolean = child.deterministic
  override def prettyName: String = RangePartitionId.Name
  override def toString: String = s"$prettyName($child, $buckets)"

  @transient private lazy val reader = new SampleReader(Array(child.dataType), Array(position))
  @transient @volatile private var model: ColumnRangeIds = _

  override def eval(input: InternalRow): Any = {
    // two threads may both read the sample, with the same result
    if (model == null) model = reader.rangeId(sample.eval(input).asInstanceOf[Array[Byte]], buckets)
    model.idOf(child.eval(input))
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val bytes = sample.genCode(ctx)
    val value = child.genCode(ctx)
    val read = ctx.addReferenceObj("reader", reader)
    val ids = ctx.addMutableState(classOf[ColumnRangeIds].getName, "rangeIds")
    val v = value.value.toString
    val id = OrderedType.require(child.dataType) match {
      case f: FixedOrder => s"$ids.idOfLong(${f.longCode(v)})"
      case _ => s"$ids.idOf($v)"
    }
    val result = if (child.nullable) s"${value.isNull} ? 0 : $id" else id
    ev.copy(
      code = code"""
        if ($ids == null) {
          ${bytes.code}
          $ids = $read.rangeId(${bytes.isNull} ? null : ${bytes.value}, $buckets);
        }
        ${value.code}
        ${CodeGenerator.JAVA_INT} ${ev.value} = $result;
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): RangeIdBySample =
    copy(child = newChildren(0), sample = newChildren(1))
}

/**
 * The Z-value of columns. Their ranges come from a sample that Spark draws when the query runs.
 *
 * @param sample BINARY, a subquery over the operator's input; evaluated only for the first row
 * @param positions the columns' positions in the sample
 */
private[sparkzorder] case class ZValueBySample(
    columns: Seq[Expression],
    sample: Expression,
    positions: Seq[Int])
    extends SampledExpression {

  override def children: Seq[Expression] = columns :+ sample
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def foldable: Boolean = false
  // `sample` does not count: Spark draws the sample once, so all rows see the same one
  override lazy val deterministic: Boolean = columns.forall(_.deterministic)
  override def prettyName: String = ZOrder.Name
  override def toString: String = s"$prettyName(${columns.mkString(", ")})"

  @transient private lazy val reader =
    new SampleReader(columns.map(_.dataType).toArray, positions.toArray)
  @transient @volatile private var curve: ZCurve = _

  override def eval(input: InternalRow): Any = {
    // two threads may both read the sample, with the same result
    if (curve == null) curve = reader.curve(sample.eval(input).asInstanceOf[Array[Byte]])
    var z = 0L
    var c = 0
    while (c < columns.length) {
      z |= curve.part(c, columns(c).eval(input))
      c += 1
    }
    z
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val bytes = sample.genCode(ctx)
    val read = ctx.addReferenceObj("reader", reader)
    val curveType = classOf[ZCurve].getName
    val kept = ctx.addMutableState(curveType, "curve")
    val local = ctx.freshName("curve")
    val body = ZCurve.partsCode(ctx, columns, local, curveType, ev.value)
    ev.copy(
      code = code"""
        if ($kept == null) {
          ${bytes.code}
          $kept = $read.curve(${bytes.isNull} ? null : ${bytes.value});
        }
        $curveType $local = $kept;
        ${CodeGenerator.JAVA_LONG} ${ev.value} = 0L;
        $body
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): ZValueBySample =
    copy(columns = newChildren.init, sample = newChildren.last)
}

/**
 * Moves sampled expressions from a join condition into a projection below the join.
 *
 * In the condition, such an expression could become a key of a broadcast. Spark computes these keys where the
 * result of a subquery is not available, so the query would fail. This is a rule of the optimizer and not of the
 * analyzer, because `Dataset.join` requires that the analyzed plan of a join is a join.
 */
private[sparkzorder] object ProjectSampledJoinKeys extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join: Join if join.condition.exists(sampledIn(_).nonEmpty) => project(join)
  }

  private def project(join: Join): LogicalPlan = {
    val keys = join.condition.toSeq.flatMap(sampledIn).map(e => Alias(e, e.prettyName)())
    val (ofLeft, rest) = keys.partition(_.references.subsetOf(join.left.outputSet))
    val ofRight = rest.filter(_.references.subsetOf(join.right.outputSet))
    val moved = ofLeft ++ ofRight
    val condition = join.condition.map(_.transformDown {
      case e: SampledExpression =>
        moved.collectFirst { case k if k.child eq e => k.toAttribute }.getOrElse(e)
    })
    val left = withKeys(join.left, ofLeft)
    val right = withKeys(join.right, ofRight)
    Project(join.output, join.copy(left = left, right = right, condition = condition))
  }

  private def withKeys(input: LogicalPlan, keys: Seq[Alias]): LogicalPlan =
    if (keys.isEmpty) input else Project(input.output ++ keys, input)

  /** The outermost sampled expressions. Those inside of them move with them. */
  private def sampledIn(e: Expression): Seq[Expression] = e match {
    case s: SampledExpression => Seq(s)
    case other => other.children.flatMap(sampledIn)
  }
}

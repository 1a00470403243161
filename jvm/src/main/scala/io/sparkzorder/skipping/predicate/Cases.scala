package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}

/**
 * One way in which a filter with COALESCE, IF or CASE can be evaluated.
 *
 * @param guards what holds for the rows that take this way
 * @param filter the filter of these rows
 */
private[predicate] final case class Case(guards: Seq[(Expression, Guard.Kind)], filter: Expression)

private[predicate] object Guard {
  sealed trait Kind
  case object True extends Kind

  /** False or NULL. */
  case object NotTrue extends Kind
  case object Null extends Kind
  case object NotNull extends Kind
}

/** Takes a filter with a COALESCE, IF or CASE apart. */
private[predicate] object Cases {
  // each may hold further ones, and all of them together are tried
  private val most = 20

  def unapply(filter: Expression): Option[Seq[Case]] =
    conditionalIn(filter).flatMap { found =>
      val ways = found match {
        case Coalesce(values) =>
          values.indices.map { i =>
            val others = values.take(i).map(_ -> Guard.Null)
            val own = if (i < values.size - 1) Seq(values(i) -> Guard.NotNull) else Nil
            (others ++ own) -> values(i)
          }
        case If(condition, yes, no) =>
          Seq(Seq(condition -> Guard.True) -> yes, Seq(condition -> Guard.NotTrue) -> no)
        case CaseWhen(branches, otherwise) =>
          val conditions = branches.map(_._1)
          val last = otherwise.getOrElse(Literal(null, found.dataType))
          branches.zipWithIndex.map { case ((condition, value), i) =>
            (conditions.take(i).map(_ -> Guard.NotTrue) :+ (condition -> Guard.True)) -> value
          } :+ (conditions.map(_ -> Guard.NotTrue) -> last)
      }
      val count = filter.collect { case e if isConditional(e) => waysOf(e) }.product
      if (count > most) None
      else Some(ways.map { case (guards, value) => Case(guards, replaced(filter, found, value)) })
    }

  // a lambda is called with many values for one row, which may take different ways
  private def conditionalIn(e: Expression): Option[Expression] = e match {
    case _: LambdaFunction => None
    case c if isConditional(c) => Some(c)
    case other =>
      other.children.iterator.map(conditionalIn).collectFirst { case Some(found) => found }
  }

  private def isConditional(e: Expression): Boolean = e match {
    case _: Coalesce | _: If | _: CaseWhen => true
    case _ => false
  }

  private def waysOf(e: Expression): Long = e match {
    case CaseWhen(branches, _) => branches.size + 1L
    case other => other.children.size.toLong
  }

  /** Only the one node, which may be the filter itself. */
  private def replaced(filter: Expression, node: Expression, by: Expression): Expression =
    filter.transformDown { case e if e eq node => by }
}

/** A condition that is compared with TRUE or FALSE and can be no more than that: `e <=> true`. */
private[predicate] object IsTrueTest {

  /** The condition, the value, and whether the result is negated. */
  def unapply(e: Expression): Option[(Expression, Boolean, Boolean)] = e match {
    case EqualNullSafe(c, Literal(v: Boolean, BooleanType)) if isCondition(c) => Some((c, v, false))
    case EqualNullSafe(Literal(v: Boolean, BooleanType), c) if isCondition(c) => Some((c, v, false))
    case _ => None
  }

  private def isCondition(e: Expression): Boolean = e.isInstanceOf[Predicate]
}

/** The expressions of a row of values, as in `(a, b) IN ((1, 2), (3, 4))`. */
private[predicate] object RowOf {
  def unapply(e: Expression): Option[Seq[Expression]] = e match {
    case s: CreateNamedStruct => Some(s.valExprs)
    case _ => None
  }
}

/** The values of literal rows. */
private[predicate] object RowValues {

  /** For each row its values and their types; None if a row is NULL or of another type. */
  def of(rows: Seq[Any], dataType: DataType): Option[Seq[Seq[(Any, DataType)]]] = dataType match {
    case StructType(fields) =>
      val tuples = rows.collect { case r: InternalRow =>
        fields.toSeq.zipWithIndex.map { case (f, i) =>
          (if (r.isNullAt(i)) null else r.get(i, f.dataType)) -> f.dataType
        }
      }
      if (tuples.size == rows.size && tuples.nonEmpty) Some(tuples) else None
    case _ => None
  }
}

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression}
import org.apache.spark.sql.types.{DataType, StructType}

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

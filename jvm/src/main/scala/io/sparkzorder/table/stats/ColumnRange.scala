package io.sparkzorder.table.stats

import java.lang.{
  Boolean => JBoolean,
  Double => JDouble,
  Float => JFloat,
  Integer => JInt,
  Long => JLong
}

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, SparkFilterApi}
import org.apache.parquet.filter2.predicate.Operators.{Column, SupportsEqNotEq, SupportsLtGt}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

/**
 * The closed range `low <= column <= high`: a point when both are equal, the NULLs when both are null.
 *
 * @param column name parts of the leaf column
 * @param low    a Spark internal value (days, microseconds, `UTF8String`, `Decimal`, ...) or a String
 * @param high   likewise
 */
final case class ColumnRange(column: Seq[String], low: Any, high: Any) {
  require(
    (low == null) == (high == null),
    s"one end of the range of ${column.mkString(".")} is null")

  /** The range as Parquet's own predicate, for a file whose leaf columns have the given types. */
  def predicate(typeOf: Seq[String] => Option[PrimitiveType]): FilterPredicate =
    typeOf(column).map(ofType).getOrElse(absent)

  // of an absent column only the NULLs count: its value is never compared, so any type will do
  private def absent: FilterPredicate =
    FilterApi.eq(SparkFilterApi.intColumn(column.toArray), if (low == null) null else Int.box(0))

  private def ofType(fileType: PrimitiveType): FilterPredicate = {
    val name = column.toArray
    val (from, to) = (StoredValue(low, fileType), StoredValue(high, fileType))
    fileType.getPrimitiveTypeName match {
      case PrimitiveTypeName.BOOLEAN =>
        either(
          SparkFilterApi.booleanColumn(name),
          from.asInstanceOf[JBoolean],
          to.asInstanceOf[JBoolean])
      case PrimitiveTypeName.INT32 =>
        between(SparkFilterApi.intColumn(name), from.asInstanceOf[JInt], to.asInstanceOf[JInt])
      case PrimitiveTypeName.INT64 =>
        between(SparkFilterApi.longColumn(name), from.asInstanceOf[JLong], to.asInstanceOf[JLong])
      case PrimitiveTypeName.FLOAT =>
        between(
          SparkFilterApi.floatColumn(name),
          from.asInstanceOf[JFloat],
          to.asInstanceOf[JFloat])
      case PrimitiveTypeName.DOUBLE =>
        between(
          SparkFilterApi.doubleColumn(name),
          from.asInstanceOf[JDouble],
          to.asInstanceOf[JDouble])
      case _ =>
        between(
          SparkFilterApi.binaryColumn(name),
          from.asInstanceOf[Binary],
          to.asInstanceOf[Binary])
    }
  }

  private def between[T <: Comparable[T], C <: Column[T] with SupportsLtGt](
      column: C,
      from: T,
      to: T): FilterPredicate =
    if (from == to) FilterApi.eq[T, C](column, from)
    else FilterApi.and(FilterApi.gtEq[T, C](column, from), FilterApi.ltEq[T, C](column, to))

  // Parquet has no order of booleans to filter by
  private def either[T <: Comparable[T], C <: Column[T] with SupportsEqNotEq](
      column: C,
      from: T,
      to: T): FilterPredicate =
    FilterApi.or(FilterApi.eq[T, C](column, from), FilterApi.eq[T, C](column, to))
}

object ColumnRange {

  /** A range of a top-level column, for callers that have no Scala collections. */
  def of(column: String, low: Any, high: Any): ColumnRange = ColumnRange(Seq(column), low, high)
}

package io.sparkzorder.skipping.scan

import scala.util.Try

import org.apache.spark.sql.catalyst.CatalystTypeConverters.{
  convertToScala,
  createToCatalystConverter
}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/**
 * Tells which filters the readers of Parquet and ORC may get for row groups and pages. Spark hands them the
 * values of a filter as objects of Java, and not every value is the same afterwards.
 */
private[scan] object ReaderFilters {

  /** True if a reader finds all rows for which the filter is true. */
  def isSafe(filter: Expression): Boolean = !filter.exists {
    // ORC's reader before ORC-1898 skips row groups of NULL alone, and NULL is distinct from the value
    case Not(e) => e.exists(_.isInstanceOf[EqualNullSafe])
    // the values of a set are no children of the set
    case InSet(child, values) => !values.forall(isKept(_, child.dataType))
    case Literal(value, t) => !isKept(value, t)
    case e => isFloating(e.dataType)
  }

  /**
   * Text that is not UTF-8 comes back with other bytes, and a day that the calendar of `java.sql.Date`
   * does not have as another day. The readers of Spark 3.5 fail at NULL.
   */
  private def isKept(value: Any, t: DataType): Boolean =
    value != null && !isFloating(t) &&
      Try(createToCatalystConverter(t)(convertToScala(value, t)) == value).getOrElse(false)

  // Parquet's filter by dictionaries takes 0.0 and -0.0 for two values
  private def isFloating(t: DataType): Boolean = t match {
    case FloatType | DoubleType => true
    case _ => false
  }
}

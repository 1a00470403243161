package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, DateType, StringType, TimestampNTZType, TimestampType}

/**
 * Functions of a column of texts. Between two texts there are others of any kind, so the texts for some
 * results are computed from the results.
 */
private[sparkzorder] object TextFunctions {

  /** None for a function that is not known. */
  def of(call: Expression, text: Expression): Option[ColumnFunction] = call match {
    case Substring(child, Literal(0 | 1, _), Literal(n: Int, _))
        if n > 0 && child.semanticEquals(text) && isText(text.dataType) =>
      Some(FirstCharacters(n))
    case c: Cast if c.child.semanticEquals(text) && isText(text.dataType) =>
      c.dataType match {
        case DateType => Some(new WrittenDates(isTime = false))
        case TimestampType | TimestampNTZType => Some(new WrittenDates(isTime = true))
        case _ => None
      }
    case _ if isText(text.dataType) => ParsedText.of(call, text)
    case _ => None
  }

  private def isText(t: DataType): Boolean =
    t.isInstanceOf[StringType] && ComparisonDomain.of(t).contains(BytesDomain)
}

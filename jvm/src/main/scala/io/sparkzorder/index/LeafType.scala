// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.Locale

import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import org.apache.spark.sql.types._

import io.sparkzorder.table.{DataFormat, ParquetFiles}
import io.sparkzorder.util.NameLookup

/**
 * The type of a leaf column, as the index stores it. The type determines how values compare, but not how a
 * file stores them. For example, a decimal has the same type here whether a file stores it as integers or
 * as bytes.
 *
 * @param text the name of the type in the header of the index
 */
private[sparkzorder] sealed abstract class LeafType(val text: String) extends Serializable {

  /** True if the bounds are ordered longs, false if they are bytes or there are none. */
  def inLongs: Boolean = this match {
    case StringLeaf | BinaryLeaf | Int96Leaf | OtherLeaf => false
    case DecimalLeaf(precision, _) => precision <= LeafType.LongDigits
    case _ => true
  }

  /** True if the index stores the bounds in 32 bits. */
  def inInts: Boolean = this match {
    case DateLeaf => true
    case IntegerLeaf(bits) => bits < 64
    case DecimalLeaf(precision, _) => precision <= LeafType.IntDigits
    case _ => false
  }

  /** True if the index has min and max of such a column, false if it has at most NULL counts. */
  def hasBounds: Boolean = this != OtherLeaf && this != Int96Leaf

  /** True for FLOAT and DOUBLE, whose bounds ignore NaN in the footers of some writers. */
  def isFloating: Boolean = this == FloatLeaf || this == DoubleLeaf
}

private[sparkzorder] case object BooleanLeaf extends LeafType("boolean")
private[sparkzorder] final case class IntegerLeaf(bits: Int) extends LeafType(s"int$bits")
private[sparkzorder] case object FloatLeaf extends LeafType("float")
private[sparkzorder] case object DoubleLeaf extends LeafType("double")
private[sparkzorder] case object DateLeaf extends LeafType("date")

/**
 * @param millis true for milliseconds, false for microseconds
 * @param utc true for an instant (TIMESTAMP), false for a local time (TIMESTAMP_NTZ)
 */
private[sparkzorder] final case class TimestampLeaf(millis: Boolean, utc: Boolean)
    extends LeafType(
      s"timestamp_${if (millis) "millis" else "micros"}_${if (utc) "utc" else "local"}")

private[sparkzorder] final case class DecimalLeaf(precision: Int, scale: Int)
    extends LeafType(s"decimal($precision,$scale)")
private[sparkzorder] case object StringLeaf extends LeafType("string")
private[sparkzorder] case object BinaryLeaf extends LeafType("binary")

/**
 * Old timestamps of 12 bytes, whose values were not read. The index has their NULL counts and no bounds, because
 * footers have none. If the values are read, the type of the column is [[TimestampLeaf]], with bounds
 * ([[BoundsFromValues]]).
 */
private[sparkzorder] case object Int96Leaf extends LeafType("int96")

/** Any other type, such as unsigned integers, times, nanoseconds and UUID. Such a column is not indexed. */
private[sparkzorder] case object OtherLeaf extends LeafType("other")

private[sparkzorder] object LeafType {

  /** The greatest precision of a decimal whose unscaled value always fits into 64 bits. */
  val LongDigits = 18

  /** The greatest precision of a decimal whose unscaled value always fits into 32 bits. */
  val IntDigits = 9

  private val fixed: Map[String, LeafType] = {
    val integers = Seq(8, 16, 32, 64).map(IntegerLeaf(_))
    val timestamps = for (m <- Seq(true, false); u <- Seq(true, false)) yield TimestampLeaf(m, u)
    val others =
      Seq(BooleanLeaf, FloatLeaf, DoubleLeaf, DateLeaf, StringLeaf, BinaryLeaf, Int96Leaf)
    (integers ++ timestamps ++ others).map(t => t.text -> t).toMap
  }

  private val decimal = "decimal\\((\\d+),(\\d+)\\)".r

  /** The type whose name in the header is `text`; [[OtherLeaf]] if the name is unknown. */
  def parse(text: String): LeafType = text match {
    case decimal(precision, scale) => DecimalLeaf(precision.toInt, scale.toInt)
    case other => fixed.getOrElse(other, OtherLeaf)
  }

  /** The type for the bounds of a column of Spark's type `t`, where no file tells how the column is stored. */
  def ofValues(t: DataType): LeafType = t match {
    case BooleanType => BooleanLeaf
    case ByteType => IntegerLeaf(8)
    case ShortType => IntegerLeaf(16)
    case IntegerType => IntegerLeaf(32)
    case LongType => IntegerLeaf(64)
    case FloatType => FloatLeaf
    case DoubleType => DoubleLeaf
    case DateType => DateLeaf
    case TimestampType => TimestampLeaf(millis = false, utc = true)
    case TimestampNTZType => TimestampLeaf(millis = false, utc = false)
    case d: DecimalType => DecimalLeaf(d.precision, d.scale)
    case BinaryType => BinaryLeaf
    case StringType => StringLeaf
    case _ => OtherLeaf
  }

  /** The type of a leaf column of a Parquet file. */
  def of(t: PrimitiveType): LeafType = t.getLogicalTypeAnnotation match {
    // Spark has no decimals of more digits, and their values may not fit into the 16 bytes of the index
    case d: DecimalLogicalTypeAnnotation =>
      if (d.getPrecision > DecimalType.MAX_PRECISION) OtherLeaf
      else DecimalLeaf(d.getPrecision, d.getScale)
    case annotation =>
      t.getPrimitiveTypeName match {
        case BOOLEAN => BooleanLeaf
        case INT32 => ofInt32(annotation)
        case INT64 => ofInt64(annotation)
        case FLOAT => FloatLeaf
        case DOUBLE => DoubleLeaf
        case BINARY => ofBinary(annotation)
        case INT96 => Int96Leaf
        case FIXED_LEN_BYTE_ARRAY => OtherLeaf
      }
  }

  private type Annotation = org.apache.parquet.schema.LogicalTypeAnnotation

  private def ofInt32(annotation: Annotation): LeafType = annotation match {
    case null => IntegerLeaf(32)
    case i: IntLogicalTypeAnnotation if i.isSigned => IntegerLeaf(i.getBitWidth)
    case _: DateLogicalTypeAnnotation => DateLeaf
    case _ => OtherLeaf
  }

  private def ofInt64(annotation: Annotation): LeafType = annotation match {
    case null => IntegerLeaf(64)
    case i: IntLogicalTypeAnnotation if i.isSigned => IntegerLeaf(i.getBitWidth)
    case ts: TimestampLogicalTypeAnnotation if ts.getUnit != TimeUnit.NANOS =>
      TimestampLeaf(ts.getUnit == TimeUnit.MILLIS, ts.isAdjustedToUTC)
    case _ => OtherLeaf
  }

  private def ofBinary(annotation: Annotation): LeafType = annotation match {
    case null | _: BsonLogicalTypeAnnotation => BinaryLeaf
    case _: StringLogicalTypeAnnotation | _: EnumLogicalTypeAnnotation |
        _: JsonLogicalTypeAnnotation =>
      StringLeaf
    case _ => OtherLeaf
  }
}

/** For the index of values: chooses the Spark type by which the values of a column are read without a change. */
private[sparkzorder] object TypeToRead {

  /**
   * The type by which the values are read unchanged from all files. Left says why there is no such type.
   *
   * @param leaves the types of the column in the files, at least one
   */
  def of(leaves: Seq[LeafType], format: DataFormat): Either[String, DataType] = {
    val widens = format.readsWidened
    def several = s"files store it as ${leaves.map(_.text).sorted.mkString(" and ")}"
    leaves.distinct match {
      case Seq(IntegerLeaf(bits)) => Right(integer(bits))
      case Seq(FloatLeaf) => Right(FloatType)
      case Seq(DoubleLeaf) => Right(DoubleType)
      case Seq(d: DecimalLeaf) => Right(DecimalType(d.precision, d.scale))
      case Seq(StringLeaf) => Right(StringType)
      case Seq(BinaryLeaf) => Right(BinaryType)
      case Seq(other) => Left(s"values of the type ${other.text} are not indexed")
      case some if some.forall(l => l == StringLeaf || l == BinaryLeaf) && format == ParquetFiles =>
        Right(BinaryType)
      case some if widens && some.forall(l => l == FloatLeaf || l == DoubleLeaf) =>
        Right(DoubleType)
      case some if some.forall(_.isInstanceOf[IntegerLeaf]) =>
        val bits = some.collect { case IntegerLeaf(b) => b }.max
        if (widens || bits < 64) Right(integer(bits)) else Left(several)
      case some if widens && some.forall(_.isInstanceOf[DecimalLeaf]) =>
        val decimals = some.collect { case d: DecimalLeaf => d }
        if (decimals.map(_.scale).distinct.size > 1) Left(several)
        else Right(DecimalType(decimals.map(_.precision).max, decimals.head.scale))
      case _ => Left(several)
    }
  }

  /**
   * The type by which the values of as many files as possible are read unchanged. Files of other types are left
   * out.
   *
   * @param files the number of files that store the column as each type, at least one type
   * @return the Spark type, and the stored types that it reads unchanged; Left says why there is no such type
   */
  def ofMost(
      files: Map[LeafType, Long],
      format: DataFormat): Either[String, (DataType, Set[LeafType])] = {
    val ordered = files.toSeq.sortBy { case (leaf, n) => (-n, leaf.text) }.map(_._1)
    ordered.find(leaf => of(Seq(leaf), format).isRight) match {
      case None => of(ordered.take(1), format).map(_ -> Set.empty)
      case Some(first) =>
        val together = ordered.foldLeft(Seq(first))((some, leaf) =>
          if (of(some :+ leaf, format).isRight) some :+ leaf else some)
        of(together, format).map(_ -> together.toSet)
    }
  }

  private def integer(bits: Int): DataType = bits match {
    case 8 => ByteType
    case 16 => ShortType
    case 32 => IntegerType
    case _ => LongType
  }
}

/**
 * The leaf columns that a file has, whether they are indexed or not. This list distinguishes a column that
 * the file lacks from a column that has no entry in the index.
 *
 * @param leaves the name parts of each leaf column, in the spelling of the file
 */
private[sparkzorder] final case class LeafColumns(leaves: Seq[Seq[String]]) {
  // Many files share one list, and the lists of all files are compared. So the hash is computed once.
  @transient override lazy val hashCode: Int = leaves.hashCode()

  @transient private lazy val spellings: Seq[Spelling] =
    Seq(new Spelling(LeafColumns.fold), new Spelling(LeafColumns.lower))

  /** The leaf columns, with names compared by one rule. */
  private final class Spelling(same: String => String) {
    private val names: Set[Seq[String]] = leaves.map(_.map(same)).toSet
    private val groups: Set[Seq[String]] = names.flatMap(l => (1 until l.size).map(l.take(_)))

    def lacks(path: Seq[String]): Boolean = {
      val wanted = path.map(same)
      val found = (1 to wanted.size).takeWhile(n => groups(wanted.take(n))).lastOption.getOrElse(0)
      // If the file has a leaf where the path needs a struct, the type differs, but the column is
      // not missing.
      found < wanted.size && !names(wanted.take(found + 1))
    }
  }

  /**
   * True if the file has no such column in any spelling, so that every row reads as NULL (or as the default
   * of the column).
   */
  def lacks(path: Seq[String]): Boolean = spellings.forall(_.lacks(path))

  /**
   * True if the name of another leaf or struct of the file differs from `leaf`, or from a struct around it,
   * only by upper and lower case. Also true if the file has `leaf` twice. Such a column is not indexed: which of the
   * columns Spark reads depends on its settings.
   */
  def isAmbiguous(leaf: Seq[String]): Boolean = {
    val wanted = LeafColumns.fold(leaf)
    (1 to wanted.size).exists { n =>
      val likeIt = leaves.filter(_.size >= n).map(_.take(n)).filter(p =>
        LeafColumns.fold(p) == wanted.take(n))
      likeIt.distinct.size > 1 || leaves.count(_ == leaf) > 1
    }
  }
}

private[sparkzorder] object LeafColumns {

  /** Two names have the same result if and only if `String.equalsIgnoreCase` is true for them. */
  def fold(name: String): String = NameLookup.folded(name)

  def fold(path: Seq[String]): Seq[String] = path.map(fold(_: String))

  /**
   * The name in lower case, by which Spark finds columns in files. For a few letters, the result differs from that of
   * `fold`. For example, `fold` takes the Greek sigma and final sigma for one letter, and `lower` does not.
   */
  def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}

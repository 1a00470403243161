// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.math.BigInteger

import scala.collection.mutable

import org.apache.spark.sql.types._

import io.sparkzorder.index._
import io.sparkzorder.index.values.ValueDomain
import io.sparkzorder.skipping.values.ComparisonDomain

/**
 * A leaf column of the table that a query reads.
 *
 * @param path name parts as the table spells them
 * @param nullWhereMissing true if the rows of a file without the column read as NULL; false if they
 *   may read as a default value
 * @param bytesAreText true if bytes of a file that the query reads as text are its UTF-8
 */
private[sparkzorder] final case class DataColumn(
    path: Seq[String],
    dataType: DataType,
    nullWhereMissing: Boolean,
    bytesAreText: Boolean = true) {
  def name: String = path.mkString(".")
}

/**
 * Reads columns of a table from its index. One column of the table may be several columns of the
 * index, because files may differ in the column's spelling or type.
 */
private[sparkzorder] final class ColumnDomainsReader(index: IndexColumns, caseSensitive: Boolean) {
  import ColumnDomains._

  // a cache, because a filter may ask for a column hundreds of times
  private val made = mutable.HashMap.empty[DataColumn, Either[String, ColumnDomains]]

  /** The column's bounds in the domain of its type, or the reason why the index has none for it. */
  def apply(column: DataColumn): Either[String, ColumnDomains] =
    made.getOrElseUpdate(column, make(column))

  private def make(column: DataColumn): Either[String, ColumnDomains] = {
    val stored = index.indexed.zipWithIndex.filter { case (c, _) => isNamed(c.path, column.path) }
    val usable = stored.flatMap { case (c, i) =>
      Conversion.of(c.leafType, column).map(conversion => (c, i, conversion))
    }
    val domain = ComparisonDomain.of(column.dataType)
    if (stored.isEmpty) Left(s"the column ${column.name} is not in the index")
    else if (domain.isEmpty) Left(s"the type ${column.dataType.sql} of ${column.name}")
    else if (usable.isEmpty) {
      Left(s"files store ${column.name} as ${stored.head._1.leafType.text}, not as " +
        column.dataType.sql)
    } else {
      val lacking =
        if (column.nullWhereMissing) index.shapes.map(_.lacks(column.path)).toArray
        else Array.emptyBooleanArray
      // the result depends on these values and on the index
      val key = (usable.map { case (_, i, conversion) => (i, conversion) }, lacking.toSeq)
      val plain = index.derived(usable.head._2, key.toString)(domainsOf(usable, lacking))
      val known =
        if (column.path.size > 1) None
        else for {
          d <- domain
          compared <- ValueDomain.of(column.dataType)
          values <- index.values(column.path.head, compared)
        } yield new KnownValues(
          column.name,
          values,
          d,
          index.table,
          filesOfOthers(column, usable.map(_._2).toSet))
      Right(known.fold(plain)(plain.withValues))
    }
  }

  /**
   * The files for which the index of values may have other values than the query reads: files that store the
   * column as a type whose values the query reads differently, and files with a column whose name differs in case,
   * which is another column if the session is case-sensitive. The index of values ignores case.
   *
   * @param usable positions of the columns of the index whose values the query reads
   */
  private def filesOfOthers(column: DataColumn, usable: Set[Int]): Seq[Array[Long]] =
    index.indexed.indices.filter(i =>
      !usable(i) && isSpelled(index.indexed(i).path, column.path)).map { i =>
      index.derived(i, "files")(new FilesOfColumn(index.column(i))).words
    }

  private def domainsOf(
      stored: Seq[(IndexedColumn, Int, Conversion)],
      lacking: Array[Boolean]): ColumnDomains = {
    val loaded = stored.map { case (c, i, conversion) =>
      val values = index.column(i)
      converted(Stored(infoOf(values, c.leafType.isFloating), values.min, values.max), conversion)
    }
    val merged = if (loaded.size == 1) loaded.head else merge(loaded)
    if (lacking.contains(true)) markMissing(merged.info, lacking)
    ColumnDomains.of(merged.info, merged.min, merged.max)
  }

  /** A column under construction. `info` may be changed, but not `min` and `max`, which may belong to the index. */
  private case class Stored(info: Array[Byte], min: StatValues, max: StatValues)

  private def isNamed(stored: Seq[String], wanted: Seq[String]): Boolean =
    if (caseSensitive) stored == wanted
    else isSpelled(stored, wanted)

  /** True if the names are equal when case is ignored. */
  private def isSpelled(stored: Seq[String], wanted: Seq[String]): Boolean =
    stored.map(LeafColumns.lower) == wanted.map(LeafColumns.lower)

  /** The flags of each file, as [[ColumnDomains]] defines them. */
  private def infoOf(v: ColumnValues, floating: Boolean): Array[Byte] = {
    val rows = index.table.rows
    val info = new Array[Byte](rows.length)
    var i = 0
    while (i < info.length) {
      var w = 0
      val nulls = v.nulls(i)
      if ((v.flags(i) & ColumnValues.Bounded) != 0) w |= Bounded
      if (nulls == 0) w |= NoNulls
      if (nulls == rows(i)) w |= NoValues
      if (!floating || (v.flags(i) & ColumnValues.NoNaN) != 0) w |= NoNaN
      info(i) = w.toByte
      i += 1
    }
    info
  }

  private def converted(column: Stored, conversion: Conversion): Stored =
    (conversion, column.min, column.max) match {
      case (NullsOnly, _, _) =>
        Stored(column.info.map(w => (w & ~Bounded).toByte), NoStats, NoStats)
      case (MillisToMicros, LongStats(min), LongStats(max)) =>
        Stored(column.info, micros(min, column.info), micros(max, column.info))
      case (ToWideDecimal, LongStats(min), LongStats(max)) =>
        Stored(column.info, wide(min), wide(max))
      case _ => column
    }

  private def micros(millis: Array[Long], info: Array[Byte]): StatValues = {
    val limit = Long.MaxValue / 1000
    millis.indices.foreach { i =>
      if (millis(i) > limit || millis(i) < -limit) info(i) = (info(i) & ~Bounded).toByte
    }
    LongStats(millis.map(_ * 1000L))
  }

  private def wide(values: Array[Long]): StatValues = {
    val builder = new ByteValues.Builder(values.length)
    values.foreach(v => builder.add(IndexValue.wide(BigInteger.valueOf(v)).get))
    ByteStats(builder.result())
  }

  /**
   * Merges several columns of the index. Each file takes its statistics from the only column that
   * has any. If two columns have statistics of a file, the file is treated as unknown.
   */
  private def merge(parts: Seq[Stored]): Stored = {
    val n = parts.head.info.length
    val from = Array.fill(n)(-1)
    // NoNaN does not count: it can be set even if the column has no statistics of a file
    val knows = Bounded | NoNulls | NoValues
    for ((v, k) <- parts.zipWithIndex; i <- 0 until n if (v.info(i) & knows) != 0) {
      from(i) = if (from(i) == -1) k else -2
    }
    val info = Array.tabulate(n)(i => if (from(i) < 0) 0.toByte else parts(from(i)).info(i))
    def pick(end: Stored => StatValues): StatValues =
      if (parts.exists(v => end(v).isInstanceOf[ByteStats])) {
        val builder = new ByteValues.Builder(n)
        (0 until n).foreach(i =>
          builder.add(if (from(i) < 0) none else bytes(end(parts(from(i))), i)))
        ByteStats(builder.result())
      } else {
        LongStats(Array.tabulate(n)(i => if (from(i) < 0) 0L else long(end(parts(from(i))), i)))
      }
    Stored(info, pick(_.min), pick(_.max))
  }

  private val none = Array.emptyByteArray
  private def bytes(values: StatValues, i: Int): Array[Byte] = values match {
    case ByteStats(b) => b(i)
    case _ => none
  }
  private def long(values: StatValues, i: Int): Long = values match {
    case LongStats(l) => l(i)
    case _ => 0L
  }

  /** Marks the files that lack the column: each of their rows reads as NULL. */
  private def markMissing(info: Array[Byte], lacking: Array[Boolean]): Unit = {
    val shapeOf = index.table.shapeOf
    info.indices.foreach { i =>
      val s = shapeOf(i)
      if (s >= 0 && s < lacking.length && lacking(s)) info(i) = NoValues.toByte
    }
  }
}

/**
 * The files whose number of NULLs in a column is known, as a bitmap. Only such files can be covered by an
 * index of values.
 */
private final class FilesOfColumn(column: ColumnValues) extends Sized {
  val words: Array[Long] = {
    val set = new java.util.BitSet(column.nulls.length)
    column.nulls.indices.foreach(i => if (column.nulls(i) >= 0) set.set(i))
    java.util.Arrays.copyOf(set.toLongArray, (column.nulls.length + 63) / 64)
  }
  override def bytes: Long = 8L * words.length
}

/** How the values of an indexed column become values of the table's column. */
private[sparkzorder] sealed trait Conversion
private[sparkzorder] case object Same extends Conversion
private[sparkzorder] case object MillisToMicros extends Conversion
private[sparkzorder] case object ToWideDecimal extends Conversion

/** Only the null counts can be used. */
private[sparkzorder] case object NullsOnly extends Conversion

private[sparkzorder] object Conversion {

  /**
   * How the bounds of such files become bounds of the table's column. None if Spark may read other values than the file
   * stores.
   */
  def of(leaf: LeafType, column: DataColumn): Option[Conversion] = (leaf, column.dataType) match {
    case (BooleanLeaf, BooleanType) => Some(Same)
    case (IntegerLeaf(bits), ByteType | ShortType | IntegerType | LongType)
        if bits <= column.dataType.defaultSize * 8 =>
      Some(Same)
    case (IntegerLeaf(32), _: YearMonthIntervalType) => Some(Same)
    case (IntegerLeaf(64), _: DayTimeIntervalType) => Some(Same)
    case (FloatLeaf, FloatType | DoubleType) | (DoubleLeaf, DoubleType) => Some(Same)
    case (DateLeaf, DateType) => Some(Same)
    case (TimestampLeaf(millis, true), TimestampType) => Some(micros(millis))
    case (TimestampLeaf(millis, false), TimestampNTZType) => Some(micros(millis))
    case (Int96Leaf, TimestampType) => Some(NullsOnly)
    case (d: DecimalLeaf, t: DecimalType) if d.scale == t.scale && d.precision <= t.precision =>
      Some(if (d.inLongs && t.precision > LeafType.LongDigits) ToWideDecimal else Same)
    case (BinaryLeaf, _: StringType) if !column.bytesAreText => None
    case (StringLeaf | BinaryLeaf, _: StringType | BinaryType) => Some(Same)
    case _ => None
  }

  private def micros(millis: Boolean): Conversion = if (millis) MillisToMicros else Same
}

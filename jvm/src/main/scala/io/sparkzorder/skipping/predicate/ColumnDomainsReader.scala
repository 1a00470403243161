package io.sparkzorder.skipping.predicate

import java.math.BigInteger

import scala.collection.mutable

import org.apache.spark.sql.types.DataType

import io.sparkzorder.index.{
  ByteStats,
  ByteValues,
  ColumnValues,
  IndexColumns,
  IndexValue,
  LeafColumns,
  LongStats,
  NoStats,
  Sized,
  StatValues
}

/**
 * A leaf column of the table that a query reads.
 *
 * @param path name parts as the table spells them
 * @param nullWhereMissing true if the rows of a file without the column read as NULL; false if they
 *   may read as a default value
 */
private[sparkzorder] final case class DataColumn(
    path: Seq[String],
    dataType: DataType,
    nullWhereMissing: Boolean) {
  def name: String = path.mkString(".")
}

/** The `info` of a [[ColumnDomains]] with its size in memory, for the cache of indexes. */
private final class FileInfo(val info: Array[Byte]) extends Sized {
  override def bytes: Long = info.length.toLong
}

/**
 * Reads columns of a table from its index. One column of the table may be several columns of the
 * index, because files may differ in the column's spelling or type.
 */
private[sparkzorder] final class ColumnDomainsReader(index: IndexColumns, caseSensitive: Boolean) {
  import ColumnDomains._

  // a filter may ask for a column hundreds of times
  private val made = mutable.HashMap.empty[DataColumn, Either[String, ColumnDomains]]

  /** The column's bounds in the domain of its type, or the reason why the index has none for it. */
  def apply(column: DataColumn): Either[String, ColumnDomains] =
    made.getOrElseUpdate(column, make(column))

  private def make(column: DataColumn): Either[String, ColumnDomains] = {
    val stored = index.indexed.zipWithIndex.filter { case (c, _) => isNamed(c.path, column.path) }
    val usable = stored.flatMap { case (c, i) =>
      Conversion.of(c.leafType, column.dataType).map(conversion => (c, i, conversion))
    }
    val domain = ComparisonDomain.of(column.dataType)
    if (stored.isEmpty) Left(s"the column ${column.name} is not in the index")
    else if (domain.isEmpty) Left(s"the type ${column.dataType.sql} of ${column.name}")
    else if (usable.isEmpty) {
      Left(s"files store ${column.name} as ${stored.head._1.leafType.text}, not as " +
        column.dataType.sql)
    } else {
      val loaded = usable.map { case (c, i, conversion) =>
        val values = index.column(i)
        val known = index.derived(i, "info")(new FileInfo(infoOf(values, c.leafType.isFloating)))
        converted(values, conversion, known.info)
      }
      val merged = if (loaded.size == 1) loaded.head else merge(loaded)
      Right(if (column.nullWhereMissing) markedMissing(merged, column.path) else merged)
    }
  }

  private def isNamed(stored: Seq[String], wanted: Seq[String]): Boolean =
    if (caseSensitive) stored == wanted
    else stored.map(LeafColumns.lower) == wanted.map(LeafColumns.lower)

  /** Computes `info` for each file. The result is the same for every query, so it can be cached. */
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

  /** @param info an array that other queries share, so it must not be changed */
  private def converted(v: ColumnValues, conversion: Conversion, info: Array[Byte]): ColumnDomains =
    (conversion, v.min, v.max) match {
      case (NullsOnly, _, _) =>
        new ColumnDomains(info.map(w => (w & ~Bounded).toByte), NoStats, NoStats)
      case (MillisToMicros, LongStats(min), LongStats(max)) =>
        val own = info.clone()
        new ColumnDomains(own, micros(min, own), micros(max, own))
      case (ToWideDecimal, LongStats(min), LongStats(max)) =>
        new ColumnDomains(info, wide(min), wide(max))
      case _ => new ColumnDomains(info, v.min, v.max)
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
   * has any. If two columns have statistics of a file, nothing counts as known of the file.
   */
  private def merge(parts: Seq[ColumnDomains]): ColumnDomains = {
    val n = parts.head.info.length
    val from = Array.fill(n)(-1)
    // NoNaN does not count: it can be set even if the column has no statistics of a file
    val knows = Bounded | NoNulls | NoValues
    for ((v, k) <- parts.zipWithIndex; i <- 0 until n if (v.info(i) & knows) != 0) {
      from(i) = if (from(i) == -1) k else -2
    }
    val info = Array.tabulate(n)(i => if (from(i) < 0) 0.toByte else parts(from(i)).info(i))
    def pick(end: ColumnDomains => StatValues): StatValues =
      if (parts.exists(v => end(v).isInstanceOf[ByteStats])) {
        val builder = new ByteValues.Builder(n)
        (0 until n).foreach(i =>
          builder.add(if (from(i) < 0) none else bytes(end(parts(from(i))), i)))
        ByteStats(builder.result())
      } else {
        LongStats(Array.tabulate(n)(i => if (from(i) < 0) 0L else long(end(parts(from(i))), i)))
      }
    new ColumnDomains(info, pick(_.min), pick(_.max))
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
  private def markedMissing(column: ColumnDomains, path: Seq[String]): ColumnDomains = {
    val lacking = index.shapes.map(_.lacks(path)).toArray
    if (!lacking.contains(true)) column
    else {
      // a copy, because other queries share the array
      val info = column.info.clone()
      val shapeOf = index.table.shapeOf
      info.indices.foreach { i =>
        val s = shapeOf(i)
        if (s >= 0 && s < lacking.length && lacking(s)) info(i) = NoValues.toByte
      }
      new ColumnDomains(info, column.min, column.max)
    }
  }
}
